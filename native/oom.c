/* How often the kernel killed a process of this container for memory: cgroup v2 and v1, at the usual places. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arci_init.h"

static ssize_t slurp(const char *path, char *text, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t length = read(fd, text, room - 1);
    close(fd);
    if (length >= 0) text[length] = '\0';
    return length;
}

static long count_in(const char *path) {
    char text[1024];
    if (slurp(path, text, sizeof text) < 0) return -1;
    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "oom_kill ", 9) == 0) return strtol(line + 9, NULL, 10);
    }
    return -1;
}

/* PREFIX + our own cgroup path + SUFFIX, for a container that sees the machine's hierarchy. `field` is what stands
 * before the path in /proc/self/cgroup. */
static long count_below(const char *field, const char *prefix, const char *suffix) {
    char text[4096], path[4608];
    if (slurp("/proc/self/cgroup", text, sizeof text) < 0) return -1;
    char *own = strstr(text, field);
    if (own == NULL) return -1;
    own += strlen(field);
    own[strcspn(own, "\n")] = '\0';
    strcpy(path, prefix);
    strcat(path, own);
    strcat(path, suffix);
    return count_in(path);
}

long oom_kills(void) {
    /* Outside a container the group's count would be that of strangers too. */
    if (getpid() != 1) return -1;
    long count = count_in("/sys/fs/cgroup/memory.events");
    if (count < 0) count = count_below("0::", "/sys/fs/cgroup", "/memory.events");
    if (count < 0) count = count_below(":memory:", "/sys/fs/cgroup/memory", "/memory.oom_control");
    if (count < 0) count = count_in("/sys/fs/cgroup/memory/memory.oom_control");
    return count;
}
