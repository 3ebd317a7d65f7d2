/* The one process below: how it is started, which signals come in for it, and how everything ends with us. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arci_init.h"

_Noreturn void leave(int code) {
    /* The end of PID 1 ends its namespace; any other parent has to do it by hand. */
    if (getpid() != 1) kill_descendants();
    _exit(code);
}

int open_signals(void) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) fail(EXIT_OS, "signalfd failed");
    return signals;
}

int signal_seen(int signals) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info) return 0;
    return (int)info.ssi_signo;
}

/* By system calls: the C library keeps some signals for itself, and would leave those as whoever started us had them. */
static void default_signals(void) {
    const unsigned long action[4] = {0}, none = 0; /* SIG_DFL, no flags, no restorer, an empty mask */
    for (int number = 1; number < NSIG; number++) syscall(SYS_rt_sigaction, number, action, NULL, sizeof none);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

static _Noreturn void become(char **argv, int input, int output, int failure) {
    setsid();
    /* Outside a namespace of our own, a kill of this program must not leave the child alone. */
    if (getppid() != 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    default_signals();
    if (dup2(input, 0) == 0 && (output < 0 || dup2(output, 1) == 1)) execvp(argv[0], argv);
    int reason = errno;
    (void)write_all(failure, (const char *)&reason, sizeof reason);
    _exit(127);
}

int start_child(char **argv, int input, int output, pid_t *child) {
    int failure[2], reason = 0;
    if (input < 0 || pipe2(failure, O_CLOEXEC) != 0) return errno;
    *child = fork();
    if (*child < 0) return errno;
    if (*child == 0) become(argv, input, output, failure[1]);
    close(input);
    if (output >= 0) close(output);
    close(failure[1]);
    ssize_t got;
    do got = read(failure[0], &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    close(failure[0]);
    return got == sizeof reason ? reason : 0;
}

int exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

_Noreturn void leave_unstarted(const char *program, int reason) {
    char line[256];
    snprintf(line, sizeof line, "cannot execute %.160s: %s", program, strerror(reason));
    say(line);
    leave(reason == ENOENT || reason == ENOTDIR ? 127 : 126);
}
