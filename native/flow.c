/* One direction of a relay. Nothing here blocks, and no descriptor is made non-blocking: stdin and stdout may be shared
 * with processes that do not expect it. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arci_init.h"

/* A pipe that polls as writable takes PIPE_BUF bytes without blocking; more might wait for its reader. */
static ssize_t write_some(int fd, const char *data, size_t length) {
    ssize_t written = send(fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0 || errno != ENOTSOCK) return written;
    struct pollfd sink = {.fd = fd, .events = POLLOUT};
    if (poll(&sink, 1, 0) < 0) return -1;
    if (sink.revents == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, data, length < PIPE_BUF ? length : PIPE_BUF);
}

/* Writes what it can; what was written, or -1 when the sink takes no more. No sink (-1) takes everything. */
static ssize_t push(int fd, const char *data, size_t length) {
    size_t done = fd < 0 ? length : 0;
    while (done < length) {
        ssize_t written = write_some(fd, data + done, length - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) break;
        if (written < 0) return -1;
        done += (size_t)written;
    }
    return (ssize_t)done;
}

void flow_drop(struct flow *flow) {
    free(flow->kept);
    flow->kept = NULL;
    flow->start = flow->length = 0;
}

static void refuse(struct flow *flow) {
    flow_drop(flow);
    flow->refused = 1;
}

void flow_flush(struct flow *flow, int sink) {
    ssize_t written = push(sink, flow->kept + flow->start, flow->length);
    if (written < 0) {
        refuse(flow);
        return;
    }
    flow->start += (size_t)written;
    flow->length -= (size_t)written;
    if (flow->length == 0) flow_drop(flow);
}

int flow_pull(struct flow *flow, int source, int sink) {
    static char chunk[CHUNK];
    ssize_t got = read(source, chunk, sizeof chunk);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (got == 0) {
        flow->ended = 1;
        return 0;
    }
    ssize_t written = push(sink, chunk, (size_t)got);
    if (written == got) return 0;
    size_t rest = (size_t)(got - written);
    if (written < 0 || (flow->kept = malloc(rest)) == NULL) {
        refuse(flow);
        return 0;
    }
    memcpy(flow->kept, chunk + written, rest);
    flow->start = 0;
    flow->length = rest;
    return 0;
}
