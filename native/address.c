/* Addresses and sockets. Every descriptor made here is close-on-exec: the agent inherits none of them. */
#include <arpa/inet.h>
#include <errno.h>
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

static int dial_once(const struct address *to, int flags) {
    int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) return -1;
    if (connect(fd, &to->any, to->length) == 0) return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

int dial(const char *text) {
    struct address to;
    long long deadline = now_ms() + CONNECT_PATIENCE_MS;
    if (parse(text, &to) != 0) return -1;
    for (;;) {
        int fd = dial_once(&to, 0);
        if (fd >= 0 || now_ms() >= deadline) return fd;
        poll(NULL, 0, CONNECT_PAUSE_MS);
    }
}

int dial_unix(const char *path) {
    struct address to;
    if (parse_unix(path, &to) != 0) return -1;
    return dial_once(&to, SOCK_NONBLOCK);
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
