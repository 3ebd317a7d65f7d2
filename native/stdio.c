/* Mode `stdio`: the shim. Carries bytes between a client's pipes and the boundary, looks at none of them, and keeps at
 * most a chunk each way. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arci_init.h"

/* `up` goes from stdin to the socket, `down` from the socket to `out`, which is -1 when the client reads no more: its
 * answers are then dropped, what it had said is still delivered. */
struct shim {
    int socket, out;
    struct flow up, down;
    int shut; /* the boundary was told that stdin has ended */
};

static int up_is_over(const struct shim *shim) {
    return shim->up.ended || shim->up.refused;
}

static void lose_client(struct shim *shim) {
    flow_drop(&shim->down);
    shim->out = -1;
}

static void on_stdout(struct shim *shim, short seen) {
    if (seen & (POLLERR | POLLHUP | POLLNVAL)) lose_client(shim);
    else if (shim->down.length > 0) flow_flush(&shim->down, shim->out);
}

static void on_socket(struct shim *shim, short seen) {
    if (shim->up.length > 0) flow_flush(&shim->up, shim->socket);
    if (!(seen & ~POLLOUT) || shim->down.length > 0) return;
    /* A connection that was cut ends like one that was closed: there is nobody left to tell the difference to. */
    if (flow_pull(&shim->down, shim->socket, shim->out) < 0) shim->down.ended = 1;
}

static void on_stdin(struct shim *shim) {
    if (flow_pull(&shim->up, 0, shim->socket) < 0) shim->up.ended = 1;
}

static void settle(struct shim *shim) {
    if (shim->down.refused && shim->out >= 0) lose_client(shim);
    if (up_is_over(shim) && shim->up.length == 0 && !shim->shut) {
        shutdown(shim->socket, SHUT_WR);
        shim->shut = 1;
    }
    if (shim->down.ended && shim->down.length == 0) _exit(0);
}

static short socket_events(const struct shim *shim) {
    short events = shim->down.length > 0 ? 0 : POLLIN;
    if (shim->up.length > 0) events |= POLLOUT;
    return events;
}

static void step(struct shim *shim) {
    int listens = !up_is_over(shim) && shim->up.length == 0, last_look = listens && shim->out < 0;
    short events = socket_events(shim);
    struct pollfd fds[3] = {
        {.fd = listens ? 0 : -1, .events = POLLIN},
        {.fd = shim->out, .events = shim->down.length > 0 ? POLLOUT : 0},
        {.fd = events != 0 ? shim->socket : -1, .events = events}, /* a hung-up one would wake us for ever */
    };
    if (poll(fds, 3, last_look ? 0 : -1) < 0) return;
    if (fds[1].revents != 0) on_stdout(shim, fds[1].revents);
    if (fds[2].revents != 0) on_socket(shim, fds[2].revents);
    if (fds[0].revents != 0) on_stdin(shim);
    else if (last_look) shim->up.ended = 1; /* its end of our stdin may be open in some other process for ever */
    settle(shim);
}

_Noreturn void stdio_main(const char *address, const char *token, const char *server) {
    static struct shim shim = {.out = 1};
    shim.socket = dial(address, SHIM_PATIENCE_MS, -1);
    if (shim.socket < 0) fail_at(EXIT_NO_PEER, "cannot reach", address, errno);
    (void)greet(shim.socket, "mcp", token, server); /* a boundary that is gone shows as an end below */
    for (;;) step(&shim);
}
