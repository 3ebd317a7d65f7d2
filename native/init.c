/* Mode `init`: parent of one process. Tells the boundary how it ended, and ends everything below when told to stop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arci_init.h"

enum { HEADER_MOST = 512, CHUNK = 65536 };

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

static _Noreturn void leave(int code) {
    /* The end of PID 1 ends its namespace; any other parent has to do it by hand. */
    if (getpid() != 1) kill_descendants();
    _exit(code);
}

static void report(struct state *state, const char *line) {
    /* A boundary that is gone shows as a closed connection in the loop. */
    if (state->status >= 0) (void)write_all(state->status, line, strlen(line));
}

static int signal_seen(struct state *state) {
    struct signalfd_siginfo info;
    if (read(state->signals, &info, sizeof info) != sizeof info) return 0;
    return (int)info.ssi_signo;
}

/* The header, byte by byte: what follows it belongs to the child. */
static void read_header(struct state *state, char *line) {
    struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = state->signals, .events = POLLIN}};
    for (size_t length = 0; length < HEADER_MOST;) {
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[1].revents != 0 && signal_seen(state) != SIGCHLD) _exit(EXIT_STOPPED);
        if (fds[0].revents == 0) continue;
        ssize_t got = read(0, line + length, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) _exit(EXIT_STOPPED);
        if (line[length] == '\n') {
            line[length] = '\0';
            return;
        }
        length++;
    }
    fail(EXIT_BAD_CALL, "the header on stdin is too long");
}

static void greet(struct state *state, const char *address, const char *token) {
    char line[HEADER_MOST + 16];
    state->status = dial(address);
    if (state->status < 0) {
        say(address);
        fail(EXIT_NO_STATUS, "the status address cannot be reached");
    }
    snprintf(line, sizeof line, "ARCI status %s\n", token);
    report(state, line);
}

static void obey_header(struct state *state, const char *address) {
    char line[HEADER_MOST];
    read_header(state, line);
    state->feed_left = -1;
    if (strncmp(line, "status ", 7) == 0 && line[7] != '\0') {
        if (address != NULL) greet(state, address, line + 7);
    } else if (strncmp(line, "feed ", 5) != 0 || parse_number(line + 5, FEED_MOST, &state->feed_left) != 0) {
        fail(EXIT_BAD_CALL, "the header on stdin is neither `status TOKEN` nor `feed N`");
    }
}

/* By system calls: the C library keeps some signals for itself, and would leave those as whoever started us had them. */
static void default_signals(void) {
    const unsigned long action[4] = {0}, none = 0; /* SIG_DFL, no flags, no restorer, an empty mask */
    for (int number = 1; number < NSIG; number++) syscall(SYS_rt_sigaction, number, action, NULL, sizeof none);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

static _Noreturn void become(int input, int failure, char **argv) {
    setsid();
    /* Outside a namespace of our own, a kill of this program must not leave the child alone. */
    if (getppid() != 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    default_signals();
    if (dup2(input, 0) == 0) execvp(argv[0], argv);
    int reason = errno;
    (void)write_all(failure, (const char *)&reason, sizeof reason);
    _exit(127);
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

/* 0, or the errno of exec. */
static int start_child(struct state *state, char **argv) {
    int failure[2], reason = 0;
    int input = open_input(state);
    if (input < 0 || pipe2(failure, O_CLOEXEC) != 0) return errno;
    state->child = fork();
    if (state->child < 0) return errno;
    if (state->child == 0) become(input, failure[1], argv);
    close(input);
    close(failure[1]);
    ssize_t got;
    do got = read(failure[0], &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    close(failure[0]);
    return got == sizeof reason ? reason : 0;
}

static _Noreturn void not_started(struct state *state, const char *program, int reason) {
    char line[256];
    snprintf(line, sizeof line, "exec-failed %d\n", reason);
    report(state, line);
    snprintf(line, sizeof line, "cannot execute %.160s: %s", program, strerror(reason));
    say(line);
    leave(reason == ENOENT || reason == ENOTDIR ? 127 : 126);
}

static _Noreturn void ended(struct state *state, int status) {
    char line[128];
    long oom = oom_kills();
    if (oom >= 0 && state->oom_before > 0) oom -= state->oom_before;
    if (WIFSIGNALED(status)) snprintf(line, sizeof line, "ended signal %d oom=%ld\n", WTERMSIG(status), oom);
    else snprintf(line, sizeof line, "ended exit %d oom=%ld\n", WEXITSTATUS(status), oom);
    report(state, line);
    leave(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void reap(struct state *state) {
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (gone == state->child) ended(state, status);
    }
}

static void on_signal(struct state *state) {
    int number = signal_seen(state);
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
        struct pollfd fds[4] = {
            {.fd = state->signals, .events = POLLIN},
            {.fd = 0, .events = stdin_events},
            {.fd = state->status, .events = POLLIN},
            {.fd = state->length > 0 ? state->feed : -1, .events = POLLOUT},
        };
        if (poll(fds, 4, -1) < 0) continue;
        if (fds[0].revents != 0) on_signal(state);
        if (fds[2].revents != 0) on_status(state);
        if (fds[3].revents != 0) feed_some(state);
        if (stdin_events == POLLIN && fds[1].revents != 0) on_stdin(state);
        else if (fds[1].revents != 0) leave(EXIT_STOPPED);
    }
}

int init_main(const char *status_address, int want_reaper, char **argv) {
    static struct state state;
    sigset_t mask;
    state.status = state.feed = -1;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    state.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (state.signals < 0) fail(EXIT_OS, "signalfd failed");
    if (want_reaper || getpid() != 1) become_subreaper();
    obey_header(&state, status_address);
    state.oom_before = oom_kills();
    int reason = start_child(&state, argv);
    if (reason != 0) not_started(&state, argv[0], reason);
    report(&state, "started\n");
    if (state.feed_left == 0) stop_feeding(&state);
    watch(&state);
}
