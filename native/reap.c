/* The whole process tree below us, where we are not PID 1: orphans come to us (subreaper), so killing children until
 * there are none reaches every descendant, whatever session it made for itself. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arci_init.h"

enum { KILL_PATIENCE_MS = 5000 };

void become_subreaper(void) {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail(EXIT_OS, "cannot become a child subreaper");
}

/* The parent of a process from /proc/PID/stat: the second field after the last ')'. 0 when it is gone. */
static long long parent_of(const char *pid) {
    char path[64] = "/proc/", text[512];
    strncat(path, pid, 16);
    strcat(path, "/stat");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    return end == NULL || strlen(end) < 5 ? 0 : strtoll(end + 4, NULL, 10);
}

/* A child's pid cannot be used again before we wait for it, so no stranger is ever killed here. */
static void kill_children(void) {
    long long self = getpid(), pid;
    DIR *proc = opendir("/proc");
    if (proc == NULL) return;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        if (parse_number(entry->d_name, 1LL << 30, &pid) != 0) continue;
        if (parent_of(entry->d_name) == self) kill((pid_t)pid, SIGKILL);
    }
    closedir(proc);
}

void kill_descendants(void) {
    long long deadline = now_ms() + KILL_PATIENCE_MS;
    for (;;) {
        pid_t gone;
        while ((gone = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (gone < 0 && errno == ECHILD) return;
        if (now_ms() >= deadline) fail(EXIT_STOPPED, "a process below cannot be killed");
        kill_children();
        poll(NULL, 0, 1);
    }
}
