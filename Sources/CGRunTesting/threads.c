// SPDX-License-Identifier: Apache-2.0
// Whether another thread of the process has work. Swift's runtime does not say how many tasks are ready to run, but
// each of them has a thread that is running or about to run.

#define _GNU_SOURCE

#include "cgrun-testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    bool do_sleep;
    unsigned threads;
    unsigned long switches;
} scan;

static unsigned long number_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found == NULL ? 0 : strtoul(found + strlen(name), NULL, 10);
}

// Adds a thread to a scan. The thread may have ended since the folder was read.
static void add(scan *all, int folder, const char *thread)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "%.16s/status", thread);
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return;
    text[length] = 0;
    // The name of the thread comes before the state, but no newline can be in it. D is a short wait in the kernel.
    const char *state = strstr(text, "\nState:\t");
    if (state != NULL && (state[8] == 'R' || state[8] == 'D'))
        all->do_sleep = false;
    all->threads++;
    all->switches += number_after(text, "\nvoluntary_ctxt_switches:\t");
    all->switches += number_after(text, "\nnonvoluntary_ctxt_switches:\t");
}

static scan look(void)
{
    scan all = {.do_sleep = true};
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return all;
    char own[16];
    snprintf(own, sizeof own, "%d", gettid());
    const struct dirent *entry;
    while ((entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0)
            add(&all, dirfd(threads), entry->d_name);
    closedir(threads);
    return all;
}

// A scan reads one thread after the other. Two threads that wake each other in turn may both be seen asleep. So a
// second scan must find that no thread has run in between.
bool cgrun_testing_other_threads_sleep(void)
{
    scan first = look();
    if (!first.do_sleep)
        return false;
    scan second = look();
    return second.do_sleep && second.threads == first.threads && second.switches == first.switches;
}
