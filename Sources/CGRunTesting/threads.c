// SPDX-License-Identifier: Apache-2.0
// Whether another thread of the process has work. Swift's runtime does not say how many tasks are ready to run, but
// each of them has a thread that is running or about to run.

#define _GNU_SOURCE

#include "cgrun-testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The state follows the name of the thread, which is in parentheses and may contain any character: "17 (name) S ...".
static bool runs(int folder, const char *thread)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "%.16s/stat", thread);
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    const char *name_end = strrchr(text, ')');
    // D is a short wait inside the kernel, for example for a disk.
    return name_end != NULL && name_end[1] == ' ' && (name_end[2] == 'R' || name_end[2] == 'D');
}

bool cgrun_testing_other_threads_sleep(void)
{
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return true;
    char own[16];
    snprintf(own, sizeof own, "%d", gettid());
    bool do_sleep = true;
    const struct dirent *entry;
    while (do_sleep && (entry = readdir(threads)) != NULL)
        do_sleep = entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0 || !runs(dirfd(threads), entry->d_name);
    closedir(threads);
    return do_sleep;
}
