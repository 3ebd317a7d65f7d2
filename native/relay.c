/* The relay of a holder: bytes between accepted TCP connections and the target's Unix socket, both ways, with half
 * close and back pressure. Bytes that the other side does not take yet are kept, and no more are read until they are
 * gone, so an idle or slow connection costs at most one chunk each way. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arci_init.h"

enum { PAIRS_MOST = 1024, TARGET_MOST = 1024, TARGET_PATIENCE_MS = 1000 };

/* Side 0 is the client, side 1 the target; flow[side] goes from fd[side] to the other. fd[1] < 0 while the target has
 * not been reached. */
struct pair {
    int fd[2];
    long long since_ms;
    struct flow flow[2];
    int shut[2]; /* the sink of that flow was told of its end */
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
        flow_drop(&pair->flow[side]);
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

static int is_over(const struct flow *flow) {
    return flow->ended || flow->refused;
}

static short wanted(const struct pair *pair, int side) {
    const struct flow *out = &pair->flow[side], *in = &pair->flow[1 - side];
    short events = 0;
    if (pair->fd[1] < 0) return 0;
    if (!is_over(out) && out->length == 0) events |= POLLIN;
    if (in->length > 0) events |= POLLOUT;
    return events;
}

static int serve_side(struct pair *pair, int side, short seen) {
    struct flow *out = &pair->flow[side], *in = &pair->flow[1 - side];
    if (seen == 0) return 0;
    if (in->length > 0) flow_flush(in, pair->fd[side]);
    if (is_over(out) || out->length > 0) return 0;
    return flow_pull(out, pair->fd[side], pair->fd[1 - side]);
}

static void pass_end_on(struct pair *pair, int side) {
    struct flow *flow = &pair->flow[side];
    if (!is_over(flow) || flow->length > 0 || pair->shut[side]) return;
    shutdown(pair->fd[1 - side], SHUT_WR);
    pair->shut[side] = 1;
}

/* 0 when the pair is done with. */
static int serve_pair(struct pair *pair, short client_seen, short target_seen) {
    if (pair->fd[1] < 0) return reach_target(pair);
    if (serve_side(pair, 0, client_seen) < 0) return 0; /* the client is gone: nobody to answer */
    if (serve_side(pair, 1, target_seen) < 0) {
        flow_drop(&pair->flow[0]);
        pair->flow[0].refused = 1;
        pair->flow[1].ended = 1; /* what it said before is still delivered */
    }
    pass_end_on(pair, 0);
    pass_end_on(pair, 1);
    return !(pair->shut[0] && pair->shut[1]);
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
    int patience_ms = life_patience(waiting > 0 ? CONNECT_PAUSE_MS : -1);
    if (poll(polled, (nfds_t)(2 + 2 * count), patience_ms) < 0) return 0;
    /* Backwards, because a closed pair's place is taken by the last one, which was served already. */
    for (int i = count - 1; i >= 0; i--) {
        if (!serve_pair(&pairs[i], polled[2 + 2 * i].revents, polled[3 + 2 * i].revents)) close_pair(&pairs[i]);
    }
    if (polled[1].revents != 0) accept_some();
    return polled[0].revents != 0;
}
