/* arci-init: what ARCI runs as the first process of a container. One static program, no allocation without a bound. */
#ifndef ARCI_INIT_H
#define ARCI_INIT_H

#include <stddef.h>

#define ARCI_INIT_VERSION "1"

enum {
    EXIT_BAD_CALL = 64,  /* wrong arguments or a malformed header */
    EXIT_NO_STATUS = 69, /* the status address cannot be reached */
    EXIT_OS = 71,        /* the kernel refused something that always works */
    EXIT_STOPPED = 143,  /* told to stop: end of stdin, lost status connection, or a signal before the start */
};

enum { CONNECT_PATIENCE_MS = 2000, CONNECT_PAUSE_MS = 5 };

/* plain.c */
long long now_ms(void);
void say(const char *text);                                /* "arci-init: TEXT" on stderr */
_Noreturn void fail(int code, const char *text);           /* say, then exit */
int write_all(int fd, const char *data, size_t length);    /* 0, or -1 with errno */
int parse_number(const char *text, long long most, long long *value);

/* address.c: `unix:/path`, `tcp:A.B.C.D:PORT` */
int dial(const char *address);                             /* blocking, patient; a close-on-exec descriptor or -1 */
int listen_on(const char *host_port, int backlog);         /* non-blocking listener, or -1 with errno */
int dial_unix(const char *path);                           /* non-blocking, one attempt; -1 with errno */

/* reap.c */
void become_subreaper(void);
void kill_descendants(void);                               /* until none is left, or a bound of seconds */

/* oom.c */
long oom_kills(void);                                      /* processes of this container killed for memory, -1 unknown */

/* hold.c, relay.c, init.c */
int hold_main(const char *listen_address);
int init_main(const char *status_address, int reap, char **argv);

void relay_start(int listener);
void relay_target(const char *path);                       /* "" = none; cuts every relayed connection */
int relay_step(int control);                               /* waits and relays; 1 when `control` can be read */

#endif
