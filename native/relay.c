/* The relay of a holder: bytes between accepted TCP connections and the target's Unix socket, both ways, with half
 * close and back pressure. Bytes that the other side does not take yet are kept, and no more are read until they are
 * gone, so an idle or slow connection costs at most one chunk each way. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arci_init.h"

enum { PAIRS_MOST = 1024, CHUNK = 65536, TARGET_MOST = 1024, TARGET_PATIENCE_MS = 1000 };

/* One direction: from fd[side] to fd[1 - side]. */
struct flow {
    char *kept;
    size_t start, length;
    int ended; /* the source has ended, or the sink takes no more */
    int shut;  /* and the sink was told so */
};

/* Side 0 is the client, side 1 the target. fd[1] < 0 while the target has not been reached. */
struct pair {
    int fd[2];
    long long since_ms;
    struct flow flow[2];
};

static struct pair pairs[PAIRS_MOST];
static struct pollfd polled[2 * PAIRS_MOST + 2];
static int count, most, listener;
static char target[TARGET_MOST];

void relay_start(int listening) {
    struct rlimit files;
    listener = listening;
    most = PAIRS_MOST;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur != RLIM_INFINITY && files.rlim_cur < 2 * PAIRS_MOST + 16) most = (int)(files.rlim_cur - 16) / 2;
    if (most < 1) fail(EXIT_OS, "the limit of open files is too low");
}

static void close_pair(struct pair *pair) {
    for (int side = 0; side < 2; side++) {
        free(pair->flow[side].kept);
        if (pair->fd[side] >= 0) close(pair->fd[side]);
    }
    *pair = pairs[--count];
}

static int accept_one(void) {
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void relay_target(const char *path) {
    if (strlen(path) >= sizeof target) fail(EXIT_BAD_CALL, "the target's path is too long");
    while (count > 0) close_pair(&pairs[count - 1]);
    /* What waits in the backlog was opened towards the target before, too. */
    if (listener >= 0) {
        for (int fd; (fd = accept_one()) >= 0;) close(fd);
    }
    strcpy(target, path);
}

static void accept_some(void) {
    while (count < most) {
        int fd = accept_one();
        if (fd < 0) return;
        if (target[0] == '\0') {
            close(fd);
            continue;
        }
        memset(&pairs[count], 0, sizeof pairs[count]);
        pairs[count].fd[0] = fd;
        pairs[count].fd[1] = -1;
        pairs[count].since_ms = now_ms();
        count++;
    }
}

/* The target may be a moment late (its listener is being made, its backlog is full). 0 when it is not to be had. */
static int reach_target(struct pair *pair) {
    pair->fd[1] = dial_unix(target);
    if (pair->fd[1] >= 0) return 1;
    if (errno != EAGAIN && errno != ENOENT && errno != ECONNREFUSED) return 0;
    return now_ms() - pair->since_ms < TARGET_PATIENCE_MS;
}

static void drop_kept(struct flow *flow) {
    free(flow->kept);
    flow->kept = NULL;
    flow->start = flow->length = 0;
}

/* Writes what it can; what was written, or -1 when the sink takes no more. */
static ssize_t push(int fd, const char *data, size_t length) {
    size_t done = 0;
    while (done < length) {
        ssize_t written = send(fd, data + done, length - done, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) break;
        if (written < 0) return -1;
        done += (size_t)written;
    }
    return (ssize_t)done;
}

static void end_flow(struct flow *flow) {
    drop_kept(flow);
    flow->ended = 1;
}

static void flush_kept(struct flow *flow, int sink) {
    ssize_t written = push(sink, flow->kept + flow->start, flow->length);
    if (written < 0) {
        end_flow(flow);
        return;
    }
    flow->start += (size_t)written;
    flow->length -= (size_t)written;
    if (flow->length == 0) drop_kept(flow);
}

/* Moves one chunk. -1 when the source broke (not: ended). */
static int pull(struct flow *flow, int source, int sink) {
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
        end_flow(flow);
        return 0;
    }
    memcpy(flow->kept, chunk + written, rest);
    flow->start = 0;
    flow->length = rest;
    return 0;
}

static short wanted(const struct pair *pair, int side) {
    const struct flow *out = &pair->flow[side], *in = &pair->flow[1 - side];
    short events = 0;
    if (pair->fd[1] < 0) return 0;
    if (!out->ended && out->length == 0) events |= POLLIN;
    if (in->length > 0) events |= POLLOUT;
    return events;
}

static int serve_side(struct pair *pair, int side, short seen) {
    struct flow *out = &pair->flow[side], *in = &pair->flow[1 - side];
    if (seen == 0) return 0;
    if (in->length > 0) flush_kept(in, pair->fd[side]);
    if (out->ended || out->length > 0) return 0;
    return pull(out, pair->fd[side], pair->fd[1 - side]);
}

static void pass_end_on(struct pair *pair, int side) {
    struct flow *flow = &pair->flow[side];
    if (!flow->ended || flow->length > 0 || flow->shut) return;
    shutdown(pair->fd[1 - side], SHUT_WR);
    flow->shut = 1;
}

/* 0 when the pair is done with. */
static int serve(struct pair *pair, short client_seen, short target_seen) {
    if (pair->fd[1] < 0) return reach_target(pair);
    if (serve_side(pair, 0, client_seen) < 0) return 0; /* the client is gone: nobody to answer */
    if (serve_side(pair, 1, target_seen) < 0) {
        end_flow(&pair->flow[0]);
        pair->flow[1].ended = 1; /* what it said before is still delivered */
    }
    pass_end_on(pair, 0);
    pass_end_on(pair, 1);
    return !(pair->flow[0].shut && pair->flow[1].shut);
}

/* A descriptor from which nothing is wanted is left out: a hung-up one would wake us for ever. */
static void want(int slot, int fd, short events) {
    polled[slot].fd = events == 0 ? -1 : fd;
    polled[slot].events = events;
    polled[slot].revents = 0;
}

int relay_step(int control) {
    int waiting = 0;
    want(0, control, POLLIN);
    want(1, listener, listener >= 0 && count < most ? POLLIN : 0);
    for (int i = 0; i < count; i++) {
        for (int side = 0; side < 2; side++) want(2 + 2 * i + side, pairs[i].fd[side], wanted(&pairs[i], side));
        waiting += pairs[i].fd[1] < 0;
    }
    if (poll(polled, (nfds_t)(2 + 2 * count), waiting > 0 ? CONNECT_PAUSE_MS : -1) < 0) return 0;
    /* Backwards, because a closed pair's place is taken by the last one, which was served already. */
    for (int i = count - 1; i >= 0; i--) {
        if (!serve(&pairs[i], polled[2 + 2 * i].revents, polled[3 + 2 * i].revents)) close_pair(&pairs[i]);
    }
    if (polled[1].revents != 0) accept_some();
    return polled[0].revents != 0;
}
