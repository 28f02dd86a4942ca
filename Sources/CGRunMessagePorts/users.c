// SPDX-License-Identifier: Apache-2.0
// Checks whether this process can distinguish other users from its own user. In a user namespace, every user that the
// namespace does not map has the overflow number. If the process itself has this number, it cannot distinguish those
// users from its own user.

#define _GNU_SOURCE

#include "cgrun-message-ports.h"
#include "cgrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// Reads the start of a file in /proc. Returns false and errno on failure.
static bool read_text(const char *path, char *text, size_t size)
{
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    long count = syscall(SYS_read, file, text, size - 1);
    int error = errno;
    cgrun_close(file);
    errno = error;
    text[count > 0 ? count : 0] = 0;
    return count >= 0;
}

// Each line of the map contains the first number inside the namespace, the first number outside, and the count of
// numbers.
static bool maps_everybody(const char *map)
{
    uint64_t all = 0;
    unsigned count;
    int length;
    for (; sscanf(map, "%*u %*u %u%n", &count, &length) == 1; map += length)
        all += count;
    // UINT32_MAX is not the number of a user, so a map of all users has UINT32_MAX numbers.
    return all == UINT32_MAX;
}

int cgrun_are_users_known(void)
{
    char text[4096];
    // A kernel without user namespaces does not have this file.
    if (read_text("/proc/self/uid_map", text, sizeof text)) {
        if (maps_everybody(text))
            return 1;
    } else if (is_shortage(errno))
        return -1;
    uid_t overflow = 65534;
    if (read_text("/proc/sys/kernel/overflowuid", text, sizeof text))
        overflow = strtoul(text, NULL, 10);
    else if (is_shortage(errno))
        return -1;
    return geteuid() != overflow;
}
