/* Files and directories of the header. Nothing untrusted has run yet, so no name can be swapped under our hands. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "arci_init.h"

enum { DIRECTORY_MODE = 0755, FILE_MODE = 0644 };

static int ensure_directory(const char *path) {
    struct stat about;
    if (mkdir(path, DIRECTORY_MODE) == 0) return 0;
    int reason = errno;
    if (stat(path, &about) == 0) {
        if (S_ISDIR(about.st_mode)) return 0;
        reason = ENOTDIR;
    }
    errno = reason;
    return -1;
}

static int make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = ensure_directory(path);
        *slash = '/';
        if (made != 0) return -1;
    }
    return 0;
}

int make_directory(char *path) {
    return make_parents(path) != 0 ? -1 : ensure_directory(path);
}

int make_file(char *path) {
    if (make_parents(path) != 0) return -1;
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
}
