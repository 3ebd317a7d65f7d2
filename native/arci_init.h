/* arci-init: what ARCI runs as the first process of a container. One static program, no allocation without a bound. */
#ifndef ARCI_INIT_H
#define ARCI_INIT_H

#include <stddef.h>
#include <sys/types.h>

#define ARCI_INIT_VERSION "3"

enum {
    EXIT_BAD_CALL = 64,  /* wrong arguments or a malformed header */
    EXIT_NO_PEER = 69,   /* the address to report to, to serve or to dial cannot be reached */
    EXIT_OS = 71,        /* the kernel refused something that always works */
    EXIT_NO_FILE = 73,   /* a file or directory of the header cannot be written */
    EXIT_STOPPED = 143,  /* told to stop: end of stdin, a lost connection, or a signal before the start */
};

enum {
    STATUS_PATIENCE_MS = 2000,
    SHIM_PATIENCE_MS = 5000,
    SERVE_PATIENCE_MS = 10000, /* the recorder listens only when it was told to begin */
    CONNECT_PAUSE_MS = 5,
    CHUNK = 65536,             /* the most that is ever held of one direction */
    HEADER_MOST = 4608,        /* one line of the header: a path, and room for the words before it */
};

/* plain.c */
long long now_ms(void);
void say(const char *text);                                /* "arci-init: TEXT" on stderr */
_Noreturn void fail(int code, const char *text);           /* say, then exit */
_Noreturn void fail_at(int code, const char *what, const char *where, int reason); /* "WHAT WHERE: REASON" */
int write_all(int fd, const char *data, size_t length);    /* 0, or -1 with errno */
int parse_number(const char *text, long long most, long long *value);

/* life.c: the silence after which our owner counts as dead; without one, the end of stdin alone tells */
void life_arguments(char ***argv);                         /* *argv points at `--silence-ms`; left at its value */
void life_heard(void);                                     /* something came on stdin, or nobody listened there */
int life_patience(int patience_ms);                        /* for poll: no longer than what is left of the silence */
int life_is_over(void);                                    /* to be asked when stdin was seen to have nothing */

/* address.c: `unix:/path`, `tcp:A.B.C.D:PORT` */
int dial(const char *address, int patience_ms, int life);  /* blocking; or -1; ECANCELED when `life` hung up meanwhile */
int greet(int fd, const char *kind, const char *token, const char *server); /* `server` may be NULL; 0, or -1 */
int listen_on(const char *host_port, int backlog);         /* non-blocking listener, or -1 with errno */
int dial_unix(const char *path);                           /* non-blocking, one attempt; -1 with errno */

/* flow.c: one direction of a relay. What the sink does not take at once is kept, at most a chunk. */
struct flow {
    char *kept;
    size_t start, length;
    int ended;   /* the source has ended */
    int refused; /* the sink takes no more; what was kept is dropped */
};

int flow_pull(struct flow *flow, int source, int sink);    /* moves one chunk; -1 when the source broke */
void flow_flush(struct flow *flow, int sink);              /* passes on what it can of what is kept */
void flow_drop(struct flow *flow);

/* reap.c */
void become_subreaper(void);
void kill_descendants(void);                               /* until none is left, or a bound of seconds */

/* oom.c */
long oom_kills(void);                                      /* processes of this container killed for memory, -1 unknown */
long long peak_memory(void);                               /* the most bytes that this container had, -1 unknown */

/* child.c: the one process below. Descriptors given to it are closed here. */
int open_signals(void);                                    /* TERM, INT and CHLD come through it from now on */
int signal_seen(int signals);                              /* its number, 0 for none */
int start_child(char **argv, int input, int output, pid_t *child); /* 0, or the errno of exec; output -1: ours */
int exit_code(int status);                                 /* of a wait status: the code, or 128 + the signal */
_Noreturn void leave(int code);                            /* everything below ends with us */
_Noreturn void leave_unstarted(const char *program, int reason);

/* header.c, files.c */
void read_header(int signals, char *line);                 /* obeys `mkdir` and `put`; the first other line in `line` */
int make_directory(char *path);                            /* with its parents; 0, or -1 with errno */
int make_file(char *path);                                 /* for writing, with its parents; -1 with errno */

/* The modes: hold.c with relay.c, init.c with serve.c, stdio.c */
int hold_main(const char *listen_address);
int init_main(const char *status_address, const char *serve_address, int reap, char **argv);
_Noreturn void serve(int signals, const char *address, char *token_and_server, char **argv);
_Noreturn void stdio_main(const char *address, const char *token, const char *server);

void relay_start(int listener);
void relay_target(const char *path);                       /* "" = none; cuts every relayed connection */
int relay_step(int control);                               /* waits and relays; 1 when `control` can be read */

#endif
