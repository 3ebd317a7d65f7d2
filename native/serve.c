/* `init --serve`: relays between the recorder's socket and the stdin and stdout of the one process below. The socket is
 * closed only when every process below is gone: who sees it closed may read the files they wrote. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arci_init.h"

enum { STDIN_GRACE_MS = 5000, TERM_GRACE_MS = 2000, DRAIN_MS = 500, LEFTOVERS_MOST = 128 };

/* How far the end has come. The deadline belongs to the stage. */
enum stage {
    SERVING,
    CLOSING,  /* stdin was closed, or will be when what is before its end was taken; then TERM */
    ASKED,    /* TERM was sent; then KILL */
    KILLED,
    DRAINING, /* the child has ended; something below it may still hold its stdout */
    EMPTYING, /* nothing lives below; what is in the pipe is passed on */
};

/* `in` goes from the socket to `input`, `out` from `output` to the socket. `input` is -1 once it was closed: what still
 * comes for it is dropped. */
struct served {
    pid_t child;
    int signals, socket, input, output, status;
    struct flow in, out;
    enum stage stage;
    long long deadline_ms; /* 0: none */
};

static void enter(struct served *served, enum stage stage, int patience_ms) {
    served->stage = stage;
    served->deadline_ms = patience_ms > 0 ? now_ms() + patience_ms : 0;
}

static void close_input(struct served *served) {
    flow_drop(&served->in);
    if (served->input >= 0) close(served->input);
    served->input = -1;
}

/* All of the child's output was passed on. */
static _Noreturn void finish(struct served *served) {
    char dropped[4096];
    kill_descendants();
    shutdown(served->socket, SHUT_RDWR);
    /* A socket that is closed with bytes unread is a reset to the other side, not an end. */
    for (int i = 0; i < LEFTOVERS_MOST; i++) {
        if (recv(served->socket, dropped, sizeof dropped, MSG_DONTWAIT) <= 0) break;
    }
    _exit(exit_code(served->status));
}

static void reap(struct served *served) {
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (gone != served->child) continue;
        served->status = status;
        close_input(served);
        enter(served, DRAINING, DRAIN_MS);
    }
}

static void on_signal(struct served *served) {
    int number = signal_seen(served->signals);
    if (number == SIGCHLD) reap(served);
    else if (number != 0 && served->stage < DRAINING) kill(-served->child, number);
}

static void on_deadline(struct served *served) {
    if (served->stage == CLOSING) {
        kill(-served->child, SIGTERM);
        enter(served, ASKED, TERM_GRACE_MS);
    } else if (served->stage == ASKED) {
        kill(-served->child, SIGKILL);
        enter(served, KILLED, 0);
    } else if (served->stage == DRAINING) {
        kill_descendants();
        enter(served, EMPTYING, 0);
    }
}

/* Our owner's end, or its signs of life. Nothing else comes on stdin after the header. */
static void on_stdin(void) {
    char dropped[256];
    ssize_t got = read(0, dropped, sizeof dropped);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) leave(EXIT_STOPPED);
    life_heard();
}

static void on_socket(struct served *served, short seen) {
    /* Half a close is a wish, a whole one is the recorder's death. */
    if (seen & (POLLHUP | POLLERR | POLLNVAL)) leave(EXIT_STOPPED);
    /* Told apart from the end of the bytes, which a child that does not read would hide for ever. */
    if ((seen & POLLRDHUP) && served->stage == SERVING) enter(served, CLOSING, STDIN_GRACE_MS);
    if (served->out.length > 0) flow_flush(&served->out, served->socket);
    if (!(seen & POLLIN) || served->in.length > 0 || served->in.ended) return;
    if (flow_pull(&served->in, served->socket, served->input) < 0) leave(EXIT_STOPPED);
}

static void on_output(struct served *served) {
    if (flow_pull(&served->out, served->output, served->socket) < 0) served->out.ended = 1;
    if (!served->out.ended || served->stage != SERVING) return;
    /* A server that has closed its stdout can serve no more, whether or not it still runs. */
    close_input(served);
    enter(served, CLOSING, STDIN_GRACE_MS);
}

/* What follows from what was moved. */
static void settle(struct served *served) {
    if (served->out.refused) leave(EXIT_STOPPED);
    if (served->in.refused || (served->in.ended && served->in.length == 0)) close_input(served);
    if (served->deadline_ms != 0 && now_ms() >= served->deadline_ms) on_deadline(served);
}

static int patience(const struct served *served) {
    if (served->stage == EMPTYING && served->out.length == 0) return 0;
    if (served->deadline_ms == 0) return -1;
    long long left = served->deadline_ms - now_ms();
    return left > 0 ? (int)left : 0;
}

static short socket_events(const struct served *served) {
    short events = served->stage == SERVING ? POLLRDHUP : 0;
    if (!served->in.ended && served->in.length == 0) events |= POLLIN;
    if (served->out.length > 0) events |= POLLOUT;
    return events;
}

static _Noreturn void watch(struct served *served) {
    for (;;) {
        int listens = !served->out.ended && served->out.length == 0;
        struct pollfd fds[5] = {
            {.fd = served->signals, .events = POLLIN},
            {.fd = 0, .events = POLLIN},
            {.fd = served->socket, .events = socket_events(served)},
            {.fd = listens ? served->output : -1, .events = POLLIN},
            {.fd = served->in.length > 0 ? served->input : -1, .events = POLLOUT},
        };
        if (poll(fds, 5, life_patience(patience(served))) < 0) continue;
        if (fds[1].revents != 0) on_stdin();
        else if (life_is_over()) leave(EXIT_STOPPED);
        if (fds[2].revents != 0) on_socket(served, fds[2].revents);
        if (fds[4].revents != 0 && served->in.length > 0) flow_flush(&served->in, served->input);
        if (fds[3].revents != 0) on_output(served);
        else if (listens && served->stage == EMPTYING) finish(served);
        if (fds[0].revents != 0) on_signal(served);
        settle(served);
        if (served->stage >= DRAINING && served->out.ended && served->out.length == 0) finish(served);
    }
}

static void reach_recorder(struct served *served, const char *address, char *token_and_server) {
    char *server = strchr(token_and_server, ' ');
    if (server == NULL || server == token_and_server || server[1] == '\0') {
        fail(EXIT_BAD_CALL, "the header on stdin is not `serve TOKEN SERVER`");
    }
    *server++ = '\0';
    served->socket = dial(address, SERVE_PATIENCE_MS, 0);
    if (served->socket < 0 && errno == ECANCELED) leave(EXIT_STOPPED);
    if (served->socket < 0) fail_at(EXIT_NO_PEER, "cannot reach the address to serve", address, errno);
    (void)greet(served->socket, "environment", token_and_server, server); /* a recorder that is gone shows in the loop */
    explicit_bzero(token_and_server, strlen(token_and_server));
}

_Noreturn void serve(int signals, const char *address, char *token_and_server, char **argv) {
    static struct served served;
    int input[2], output[2];
    served.signals = signals;
    reach_recorder(&served, address, token_and_server);
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) fail(EXIT_OS, "no pipe can be made");
    int reason = start_child(argv, input[0], output[1], &served.child);
    if (reason != 0) leave_unstarted(argv[0], reason);
    served.input = input[1];
    served.output = output[0];
    watch(&served);
}
