/* Entry: `arci-init hold|init|stdio|--version`. The protocol is docs/reference/control-channel.md. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arci_init.h"

static const char USAGE[] = "usage: arci-init hold [--silence-ms N] [--listen A.B.C.D:PORT]\n"
                            "       arci-init init [--silence-ms N] [--status ADDRESS | --serve ADDRESS] [--reap] -- ARGV...\n"
                            "       arci-init stdio ADDRESS TOKEN [SERVER]\n"
                            "       arci-init --version\n";

static _Noreturn void usage(void) {
    write_all(2, USAGE, sizeof USAGE - 1);
    _exit(EXIT_BAD_CALL);
}

static int hold_arguments(char **argv) {
    const char *address = NULL;
    for (; *argv != NULL; argv++) {
        if (strcmp(*argv, "--silence-ms") == 0) life_arguments(&argv);
        else if (strcmp(*argv, "--listen") == 0 && argv[1] != NULL) address = *++argv;
        else usage();
    }
    return hold_main(address);
}

static int init_arguments(char **argv) {
    const char *status = NULL, *serve_at = NULL;
    int reap = 0;
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--reap") == 0) reap = 1;
        else if (strcmp(*argv, "--silence-ms") == 0) life_arguments(&argv);
        else if (strcmp(*argv, "--status") == 0 && argv[1] != NULL) status = *++argv;
        else if (strcmp(*argv, "--serve") == 0 && argv[1] != NULL) serve_at = *++argv;
        else usage();
    }
    if (*argv == NULL || argv[1] == NULL || (status != NULL && serve_at != NULL)) usage();
    return init_main(status, serve_at, reap, argv + 1);
}

static _Noreturn void stdio_arguments(int count, char **argv) {
    if (count < 2 || count > 3) usage();
    stdio_main(argv[0], argv[1], count == 3 ? argv[2] : NULL);
}

/* A descriptor that whoever started us left closed would be the next one that we open, and be taken for a stream. */
static void open_streams(void) {
    int fd;
    do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= 2);
    if (fd > 2) close(fd);
}

int main(int argc, char **argv) {
    if (argc < 2) usage();
    /* Another process of the same uid must not read our memory (the token) or our descriptors. */
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    open_streams();
    if (strcmp(argv[1], "--version") == 0) {
        static const char version[] = "arci-init " ARCI_INIT_VERSION "\n";
        return write_all(1, version, sizeof version - 1) == 0 ? 0 : EXIT_OS;
    }
    if (strcmp(argv[1], "hold") == 0) return hold_arguments(argv + 2);
    if (strcmp(argv[1], "init") == 0) return init_arguments(argv + 2);
    if (strcmp(argv[1], "stdio") == 0) stdio_arguments(argc - 2, argv + 2);
    usage();
}
