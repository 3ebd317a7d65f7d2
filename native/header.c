/* The header on stdin: what must lie on disk before anything is started, then one line that says what to do. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arci_init.h"

static const long long FILE_MOST_BYTES = 1LL << 40;

/* At least one byte of stdin. Its end, or a signal, is the end of us: nothing was started yet. */
static size_t read_some(int signals, char *data, size_t room) {
    struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, life_patience(-1)) < 0) continue;
        if (fds[1].revents != 0 && signal_seen(signals) != SIGCHLD) _exit(EXIT_STOPPED);
        if (fds[0].revents == 0) {
            if (life_is_over()) _exit(EXIT_STOPPED);
            continue;
        }
        ssize_t got = read(0, data, room);
        if (got > 0) {
            life_heard();
            return (size_t)got;
        }
        if (got == 0 || (errno != EINTR && errno != EAGAIN)) _exit(EXIT_STOPPED);
    }
}

/* Byte by byte: what follows the line is a file's, or the child's. */
static void read_line(int signals, char *line) {
    for (size_t length = 0; length < HEADER_MOST; length++) {
        read_some(signals, line + length, 1);
        if (line[length] != '\n') continue;
        line[length] = '\0';
        return;
    }
    fail(EXIT_BAD_CALL, "the header on stdin is too long");
}

static void need_absolute(const char *path) {
    if (*path != '/') fail(EXIT_BAD_CALL, "a path in the header is not absolute");
}

static _Noreturn void cannot_write(const char *path) {
    fail_at(EXIT_NO_FILE, "cannot write", path, errno);
}

static void obey_mkdir(char *path) {
    need_absolute(path);
    if (make_directory(path) != 0) cannot_write(path);
}

static void obey_put(int signals, char *arguments) {
    static char chunk[CHUNK];
    long long left;
    char *path = strchr(arguments, ' ');
    if (path == NULL) fail(EXIT_BAD_CALL, "`put` in the header has no path");
    *path++ = '\0';
    need_absolute(path);
    if (parse_number(arguments, FILE_MOST_BYTES, &left) != 0) fail(EXIT_BAD_CALL, "`put` in the header has no length");
    int fd = make_file(path);
    if (fd < 0) cannot_write(path);
    while (left > 0) {
        size_t got = read_some(signals, chunk, left < CHUNK ? (size_t)left : CHUNK);
        if (write_all(fd, chunk, got) != 0) cannot_write(path);
        left -= (long long)got;
    }
    if (close(fd) != 0) cannot_write(path); /* a quota or a network may tell only now */
}

void read_header(int signals, char *line) {
    mode_t inherited = umask(0); /* modes are ours to choose here; the child keeps the mask that we were given */
    for (;;) {
        read_line(signals, line);
        if (*line == '\0') continue; /* a sign of life */
        if (strncmp(line, "mkdir ", 6) == 0) obey_mkdir(line + 6);
        else if (strncmp(line, "put ", 4) == 0) obey_put(signals, line + 4);
        else break;
    }
    umask(inherited);
}
