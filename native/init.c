/* Mode `init`: parent of one process. Tells the boundary how it ended, and ends everything below when told to stop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arci_init.h"

static const long long FEED_MOST = 1LL << 40;

/* Descriptors are -1 where there is none. */
struct state {
    pid_t child;
    int signals, status, feed;
    long long feed_left; /* bytes of the body that are still to be read from stdin */
    char chunk[CHUNK];   /* read and not yet taken by the child */
    size_t start, length;
    long oom_before;
};

static void report(struct state *state, const char *line) {
    /* A boundary that is gone shows as a closed connection in the loop. */
    if (state->status >= 0) (void)write_all(state->status, line, strlen(line));
}

static void reach_boundary(struct state *state, const char *address, const char *token) {
    state->status = dial(address, STATUS_PATIENCE_MS, 0);
    if (state->status < 0 && errno == ECANCELED) leave(EXIT_STOPPED);
    if (state->status < 0) fail_at(EXIT_NO_PEER, "cannot reach the status address", address, errno);
    (void)greet(state->status, "status", token, NULL);
}

static void obey_line(struct state *state, const char *line, const char *status_address) {
    state->feed_left = -1;
    if (strncmp(line, "status ", 7) == 0 && line[7] != '\0') {
        if (status_address != NULL) reach_boundary(state, status_address, line + 7);
    } else if (strncmp(line, "feed ", 5) != 0 || parse_number(line + 5, FEED_MOST, &state->feed_left) != 0) {
        fail(EXIT_BAD_CALL, "the header on stdin is neither `status TOKEN` nor `feed N`");
    }
}

/* The descriptor for the child's stdin; keeps the other end of the pipe for a feed. */
static int open_input(struct state *state) {
    int ends[2];
    if (state->feed_left < 0) return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    state->feed = ends[1];
    return ends[0];
}

static _Noreturn void not_started(struct state *state, const char *program, int reason) {
    char line[64];
    snprintf(line, sizeof line, "exec-failed %d\n", reason);
    report(state, line);
    leave_unstarted(program, reason);
}

static _Noreturn void ended(struct state *state, int status) {
    char line[128], peak[32] = "";
    long oom = oom_kills();
    long long most = peak_memory();
    if (oom >= 0 && state->oom_before > 0) oom -= state->oom_before;
    if (most >= 0) snprintf(peak, sizeof peak, " peak=%lld", most);
    if (WIFSIGNALED(status)) snprintf(line, sizeof line, "ended signal %d oom=%ld%s\n", WTERMSIG(status), oom, peak);
    else snprintf(line, sizeof line, "ended exit %d oom=%ld%s\n", WEXITSTATUS(status), oom, peak);
    report(state, line);
    leave(exit_code(status));
}

static void reap(struct state *state) {
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (gone == state->child) ended(state, status);
    }
}

static void on_signal(struct state *state) {
    int number = signal_seen(state->signals);
    if (number == SIGCHLD) reap(state);
    else if (number != 0) kill(-state->child, number); /* the child leads a group of its own */
}

static void stop_feeding(struct state *state) {
    if (state->feed >= 0) close(state->feed);
    state->feed = -1;
    state->length = 0;
}

static void feed_some(struct state *state) {
    ssize_t written = write(state->feed, state->chunk + state->start, state->length);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written < 0) {
        stop_feeding(state); /* the child does not want it; the rest of the body is read and dropped */
        return;
    }
    state->start += (size_t)written;
    state->length -= (size_t)written;
    if (state->length == 0 && state->feed_left == 0) stop_feeding(state);
}

/* Stdin: the body while there is some, then nothing but its end. */
static void on_stdin(struct state *state) {
    size_t room = sizeof state->chunk;
    if (state->feed_left > 0 && (long long)room > state->feed_left) room = (size_t)state->feed_left;
    ssize_t got = read(0, state->chunk, room);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) leave(EXIT_STOPPED);
    life_heard();
    if (state->feed_left <= 0) return;
    state->feed_left -= got;
    if (state->feed < 0) return;
    state->start = 0;
    state->length = (size_t)got;
    feed_some(state);
}

static void on_status(struct state *state) {
    char dropped[64];
    ssize_t got = read(state->status, dropped, sizeof dropped);
    if (got > 0 || (got < 0 && errno == EINTR)) return;
    leave(EXIT_STOPPED);
}

static _Noreturn void watch(struct state *state) {
    for (;;) {
        /* With a chunk in hand stdin is not read, but its end is still seen. */
        short stdin_events = state->length > 0 ? POLLRDHUP : POLLIN;
        if (state->length > 0) life_heard(); /* what our owner says is not heard, so its silence is none */
        struct pollfd fds[4] = {
            {.fd = state->signals, .events = POLLIN},
            {.fd = 0, .events = stdin_events},
            {.fd = state->status, .events = POLLIN},
            {.fd = state->length > 0 ? state->feed : -1, .events = POLLOUT},
        };
        if (poll(fds, 4, life_patience(-1)) < 0) continue;
        if (fds[0].revents != 0) on_signal(state);
        if (fds[2].revents != 0) on_status(state);
        if (fds[3].revents != 0) feed_some(state);
        if (stdin_events == POLLIN && fds[1].revents != 0) on_stdin(state);
        else if (fds[1].revents != 0 || (stdin_events == POLLIN && life_is_over())) leave(EXIT_STOPPED);
    }
}

static _Noreturn void run(struct state *state, char **argv) {
    state->oom_before = oom_kills();
    int reason = start_child(argv, open_input(state), -1, &state->child);
    if (reason != 0) not_started(state, argv[0], reason);
    report(state, "started\n");
    if (state->feed_left == 0) stop_feeding(state);
    watch(state);
}

int init_main(const char *status_address, const char *serve_address, int want_reaper, char **argv) {
    static struct state state;
    static char line[HEADER_MOST];
    state.status = state.feed = -1;
    state.signals = open_signals();
    if (want_reaper || getpid() != 1) become_subreaper();
    read_header(state.signals, line);
    if (serve_address != NULL) {
        if (strncmp(line, "serve ", 6) != 0) fail(EXIT_BAD_CALL, "the header on stdin is not `serve TOKEN SERVER`");
        serve(state.signals, serve_address, line + 6, argv);
    }
    obey_line(&state, line, status_address);
    explicit_bzero(line, sizeof line); /* the token has been said */
    run(&state, argv);
}
