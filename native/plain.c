/* Small things every mode needs: the clock, messages, whole writes, numbers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arci_init.h"

long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int write_all(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -1;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

void say(const char *text) {
    char line[512];
    size_t length = strlen(text);
    if (length > sizeof line - 13) length = sizeof line - 13;
    memcpy(line, "arci-init: ", 11);
    memcpy(line + 11, text, length);
    line[11 + length] = '\n';
    write_all(2, line, length + 12);
}

_Noreturn void fail(int code, const char *text) {
    say(text);
    _exit(code);
}

_Noreturn void fail_at(int code, const char *what, const char *where, int reason) {
    char line[480];
    snprintf(line, sizeof line, "%s %.320s: %s", what, where, strerror(reason));
    fail(code, line);
}

int parse_number(const char *text, long long most, long long *value) {
    long long sum = 0;
    if (*text == '\0') return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return -1;
        sum = sum * 10 + (*text - '0');
        if (sum > most) return -1;
    }
    *value = sum;
    return 0;
}
