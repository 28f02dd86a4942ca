// SPDX-License-Identifier: Apache-2.0
// Checks whether another thread of the process has work. Swift's runtime does not report how many tasks are ready to
// run. But each ready task has a thread that is running or about to run.

#define _GNU_SOURCE

#include "cgrun-testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    pid_t thread;
    unsigned long waits;
    bool is_found;
} busy_thread;

// The threads that never slept while a test waited for them. Used by the main thread only.
static busy_thread ignored[64];
static unsigned ignored_count;

typedef struct {
    bool do_sleep;
    unsigned threads;
    unsigned long switches;
} scan;

typedef struct {
    bool is_running;
    unsigned long waits, preemptions;
} state;

static unsigned long number_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found == NULL ? 0 : strtoul(found + strlen(name), NULL, 10);
}

// Reads the state of a thread. Returns false if the thread has ended since the folder was read.
static bool read_state(int folder, const char *thread, state *found)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "%.16s/status", thread);
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    // The thread's name comes before the state, but cannot contain a newline. The state D is a short wait in the
    // kernel.
    const char *line = strstr(text, "\nState:\t");
    found->is_running = line != NULL && (line[8] == 'R' || line[8] == 'D');
    found->waits = number_after(text, "\nvoluntary_ctxt_switches:\t");
    found->preemptions = number_after(text, "\nnonvoluntary_ctxt_switches:\t");
    return true;
}

// Returns true if the thread is ignored and has not waited since. Records that the scan has found the thread.
static bool is_ignored(pid_t thread, unsigned long waits)
{
    for (unsigned i = 0; i < ignored_count; i++) {
        if (ignored[i].thread == thread && ignored[i].waits == waits) {
            ignored[i].is_found = true;
            return true;
        }
    }
    return false;
}

// Removes the ignored threads that a scan has not found, because they have waited or ended. Their numbers can belong to
// other threads later.
static void forget_others(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < ignored_count; i++)
        if (ignored[i].is_found)
            ignored[kept++] = (busy_thread){ignored[i].thread, ignored[i].waits, false};
    ignored_count = kept;
}

// Reads the states of all other threads. If `ignores` is true, ignores the running threads.
static scan look(bool ignores)
{
    scan all = {.do_sleep = true};
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return all;
    const struct dirent *entry;
    while ((entry = readdir(threads)) != NULL) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        state found;
        if (thread == 0 || thread == gettid() || !read_state(dirfd(threads), entry->d_name, &found) ||
            is_ignored(thread, found.waits))
            continue;
        if (found.is_running && ignores && ignored_count < sizeof ignored / sizeof *ignored) {
            ignored[ignored_count++] = (busy_thread){thread, found.waits, true};
            continue;
        }
        all.do_sleep = all.do_sleep && !found.is_running;
        all.threads++;
        all.switches += found.waits + found.preemptions;
    }
    closedir(threads);
    forget_others();
    return all;
}

// A scan reads one thread after another. So two threads that wake each other in turn may both seem to sleep. A second
// scan must confirm that no thread has run in between.
bool cgrun_testing_other_threads_sleep(void)
{
    scan first = look(false);
    if (!first.do_sleep)
        return false;
    scan second = look(false);
    return second.do_sleep && second.threads == first.threads && second.switches == first.switches;
}

void cgrun_testing_ignore_running_threads(void)
{
    ignored_count = 0;
    look(true);
}
