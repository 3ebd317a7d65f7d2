/* Addresses and sockets. Every descriptor made here is close-on-exec: the agent inherits none of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "arci_init.h"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    };
    socklen_t length;
};

static int parse_unix(const char *path, struct address *out) {
    memset(out, 0, sizeof *out);
    if (*path == '\0' || strlen(path) >= sizeof out->un.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    out->un.sun_family = AF_UNIX;
    memcpy(out->un.sun_path, path, strlen(path) + 1);
    out->length = sizeof out->un;
    return 0;
}

static int parse_tcp(const char *host_port, struct address *out) {
    char host[16];
    long long port;
    const char *colon = strchr(host_port, ':');
    memset(out, 0, sizeof *out);
    errno = EINVAL;
    if (colon == NULL || (size_t)(colon - host_port) >= sizeof host) return -1;
    memcpy(host, host_port, (size_t)(colon - host_port));
    host[colon - host_port] = '\0';
    if (parse_number(colon + 1, 65535, &port) != 0) return -1;
    if (inet_pton(AF_INET, host, &out->in.sin_addr) != 1) return -1;
    out->in.sin_family = AF_INET;
    out->in.sin_port = htons((unsigned short)port);
    out->length = sizeof out->in;
    return 0;
}

static int parse(const char *text, struct address *out) {
    if (strncmp(text, "unix:", 5) == 0) return parse_unix(text + 5, out);
    if (strncmp(text, "tcp:", 4) == 0) return parse_tcp(text + 4, out);
    errno = EINVAL;
    return -1;
}

/* A connect that the kernel goes on with: a full backlog, mostly. 0, or -1 with errno. */
static int finish_connect(int fd, long long patience_ms) {
    struct pollfd made = {.fd = fd, .events = POLLOUT};
    int reason = ETIMEDOUT;
    socklen_t size = sizeof reason;
    if (poll(&made, 1, patience_ms > 0 ? (int)patience_ms : 0) > 0) {
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size);
    }
    errno = reason;
    return reason == 0 ? 0 : -1;
}

/* Non-blocking, because a blocking connect to a full backlog waits for as long as the other side likes. */
static int dial_once(const struct address *to, long long patience_ms) {
    int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, &to->any, to->length) == 0) return fd;
    if (errno == EINPROGRESS && finish_connect(fd, patience_ms) == 0) return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static int ready_to_use(int fd, const struct address *to) {
    int on = 1;
    fcntl(fd, F_SETFL, 0);
    /* A hello and a first request are two small writes: without this the second waits for the first's acknowledgement. */
    if (to->any.sa_family == AF_INET) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int dial(const char *text, int patience_ms, int life) {
    struct address to;
    struct pollfd owner = {.fd = life, .events = POLLRDHUP};
    long long deadline = now_ms() + patience_ms;
    if (parse(text, &to) != 0) return -1;
    for (;;) {
        int fd = dial_once(&to, deadline - now_ms());
        if (fd >= 0) return ready_to_use(fd, &to);
        if (now_ms() >= deadline) return -1;
        if (poll(&owner, 1, CONNECT_PAUSE_MS) > 0) {
            errno = ECANCELED;
            return -1;
        }
    }
}

/* By hand: the C library's formatting leaves copies of the token on the stack. */
static size_t append(char *line, size_t length, size_t room, const char *text) {
    size_t more = strlen(text);
    if (more > room - length) fail(EXIT_BAD_CALL, "the token or the name of the server is too long");
    memcpy(line + length, text, more);
    return length + more;
}

int greet(int fd, const char *kind, const char *token, const char *server) {
    const char *parts[] = {"ARCI ", kind, " ", token, server == NULL ? "" : " ", server == NULL ? "" : server, "\n"};
    char line[1024];
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) length = append(line, length, sizeof line, parts[i]);
    int done = write_all(fd, line, length);
    explicit_bzero(line, sizeof line);
    return done;
}

int dial_unix(const char *path) {
    struct address to;
    if (parse_unix(path, &to) != 0) return -1;
    return dial_once(&to, 0);
}

int listen_on(const char *host_port, int backlog) {
    struct address at;
    int on = 1;
    if (parse_tcp(host_port, &at) != 0) return -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    /* The slot's next holder binds the same port while connections of the last trial are in TIME_WAIT. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted sockets inherit it */
    if (bind(fd, &at.any, at.length) != 0 || listen(fd, backlog) != 0) return -1;
    return fd;
}
