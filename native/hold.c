/* Mode `hold`: keeps the namespace, relays when told where to, ends with its stdin. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arci_init.h"

enum { BACKLOG = 512, LINE_MOST = 1024 };

static void stop(int number) {
    (void)number;
    _exit(0);
}

static void obey(const char *line) {
    if (*line == '\0') return; /* a sign of life */
    if (strncmp(line, "target ", 7) != 0 || line[7] == '\0') fail(EXIT_BAD_CALL, "unknown line on stdin");
    relay_target(strcmp(line + 7, "-") == 0 ? "" : line + 7);
    if (write_all(1, "ok\n", 3) != 0) _exit(EXIT_STOPPED);
}

/* Reads what there is and obeys each whole line. 0 at end of stdin. */
static int read_lines(void) {
    static char line[LINE_MOST];
    static size_t length;
    ssize_t got = read(0, line + length, sizeof line - length);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return 0;
    life_heard();
    length += (size_t)got;
    for (char *end; (end = memchr(line, '\n', length)) != NULL;) {
        *end = '\0';
        obey(line);
        length -= (size_t)(end + 1 - line);
        memmove(line, end + 1, length);
    }
    if (length == sizeof line) fail(EXIT_BAD_CALL, "a line on stdin is too long");
    return 1;
}

int hold_main(const char *listen_address) {
    int listener = -1;
    /* PID 1 has no default action for these: without a handler a polite stop waits for its grace. */
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    if (listen_address != NULL) {
        listener = listen_on(listen_address, BACKLOG);
        if (listener < 0) {
            say(listen_address);
            fail(EXIT_OS, strerror(errno));
        }
    }
    relay_start(listener);
    if (write_all(1, "ready\n", 6) != 0) return EXIT_STOPPED;
    for (;;) {
        if (relay_step(0)) {
            if (!read_lines()) return 0;
        } else if (life_is_over()) return 0;
    }
}
