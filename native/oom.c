/* What the kernel counted of this container's memory, its kills and its peak: cgroup v2 and v1, at the usual places. */
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

/* The number behind KEY at the start of a line; of a file that is one number, KEY is empty. -1 where there is none. */
static long long count_in(const char *path, const char *key) {
    char text[1024];
    if (slurp(path, text, sizeof text) < 0) return -1;
    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        char *number = line + strlen(key);
        if (strncmp(line, key, strlen(key)) == 0 && *number >= '0' && *number <= '9') return strtoll(number, NULL, 10);
    }
    return -1;
}

/* PREFIX + our own cgroup path + SUFFIX, for a container that sees the machine's hierarchy. `field` is what stands
 * before the path in /proc/self/cgroup. */
static long long count_below(const char *field, const char *prefix, const char *suffix, const char *key) {
    char text[4096], path[4608];
    if (slurp("/proc/self/cgroup", text, sizeof text) < 0) return -1;
    char *own = strstr(text, field);
    if (own == NULL) return -1;
    own += strlen(field);
    own[strcspn(own, "\n")] = '\0';
    strcpy(path, prefix);
    strcat(path, own);
    strcat(path, suffix);
    return count_in(path, key);
}

static long long counted(const char *v2, const char *v1, const char *key) {
    char path[128] = "/sys/fs/cgroup";
    /* Outside a container the group's count would be that of strangers too. */
    if (getpid() != 1) return -1;
    long long count = count_in(strcat(path, v2), key);
    if (count < 0) count = count_below("0::", "/sys/fs/cgroup", v2, key);
    if (count < 0) count = count_below(":memory:", "/sys/fs/cgroup/memory", v1, key);
    if (count < 0) count = count_in(strcat(strcpy(path, "/sys/fs/cgroup/memory"), v1), key);
    return count;
}

long oom_kills(void) {
    return (long)counted("/memory.events", "/memory.oom_control", "oom_kill ");
}

long long peak_memory(void) {
    return counted("/memory.peak", "/memory.max_usage_in_bytes", "");
}
