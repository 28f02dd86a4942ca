// SPDX-License-Identifier: Apache-2.0
// GRUN_CHECK in C: the report at exit, and Foundation. Foundation's functions are looked up at run time,
// because most programs do not load Foundation.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// Prints the report if it was not printed yet (StartUpCheck.swift). `is_own` is false in a forked child.
void cgrun_finish_check(bool is_own) __attribute__((visibility("hidden")));
/// A run of Foundation's main run loop begins.
void cgrun_note_foundation_run(void) __attribute__((visibility("hidden")));

static pid_t process;
/// False if the program was started with standard error closed. Another file may have the descriptor's number later.
static bool has_standard_error;

static void finish(void) { cgrun_finish_check(getpid() == process); }

__attribute__((constructor(103))) static void report_at_exit(void)
{
    if (cgrun_environment("GRUN_CHECK") == NULL)
        return;
    process = getpid();
    has_standard_error = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    atexit(finish);
}

void cgrun_print_report(const char *text)
{
    if (!has_standard_error)
        return;
    // A closed pipe must not end the program.
    sigset_t broken, former, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken, &former);
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&broken, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}

int64_t cgrun_processor_time_of_main_thread(void)
{
    // The clock of a thread of this process: clock_getcpuclockid(3) has only the clocks of processes.
    clockid_t clock = (clockid_t)((~(unsigned)getpid() << 3) | 6);
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

extern void *dispatch_get_global_queue(long identifier, unsigned long flags);

const char *cgrun_file_of_libdispatch(void)
{
    Dl_info info;
    return dladdr((void *)dispatch_get_global_queue, &info) && info.dli_fname ? info.dli_fname : "?";
}

const char *cgrun_glib_version(void)
{
    static char text[32];
    g_snprintf(text, sizeof text, "%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
    return text;
}

// MARK: Foundation

/// Foundation's functions. `get_main` is NULL if Foundation is not loaded.
static struct {
    const void *(*get_main)(void);
    double (*now)(void);
    const void *(*new_observer)(
        const void *, unsigned long, unsigned char, long, void (*)(void *, unsigned long, void *), void *);
    void (*add_observer)(const void *, const void *, const void *);
    const void *(*new_timer)(const void *, double, double, unsigned long, long, void (*)(void *, void *), void *);
    void (*add_timer)(const void *, const void *, const void *);
    const void *(*copy_mode)(const void *);
    void (*release)(const void *);
    const void *const *common_modes;
} foundation;

enum { ENTRY = 1 };

static uint32_t fires;

static void on_entry(void *observer, unsigned long activity, void *info)
{
    (void)observer;
    (void)activity;
    (void)info;
    cgrun_note_foundation_run();
}

static void on_timer(void *timer, void *info)
{
    (void)timer;
    (void)info;
    __atomic_add_fetch(&fires, 1, __ATOMIC_RELAXED);
}

/// Stores the address of a symbol, and returns whether the symbol exists.
static bool find(const char *name, void *place)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(place, &found, sizeof found);
    return found != NULL;
}

bool cgrun_foundation_begin_check(void)
{
    bool is_loaded = find("CFAbsoluteTimeGetCurrent", &foundation.now) &&
        find("CFRunLoopObserverCreate", &foundation.new_observer) &&
        find("CFRunLoopAddObserver", &foundation.add_observer) &&
        find("CFRunLoopTimerCreate", &foundation.new_timer) && find("CFRunLoopAddTimer", &foundation.add_timer) &&
        find("CFRunLoopCopyCurrentMode", &foundation.copy_mode) && find("CFRelease", &foundation.release) &&
        find("kCFRunLoopCommonModes", &foundation.common_modes) && find("CFRunLoopGetMain", &foundation.get_main);
    if (!is_loaded)
        return false;
    // The observer and the timers are never released, because a check is made once.
    const void *observer = foundation.new_observer(NULL, ENTRY, 1, 0, on_entry, NULL);
    foundation.add_observer(foundation.get_main(), observer, *foundation.common_modes);
    cgrun_foundation_add_timer();
    return true;
}

void cgrun_foundation_add_timer(void)
{
    const void *timer = foundation.new_timer(NULL, foundation.now(), 0, 0, 0, on_timer, NULL);
    foundation.add_timer(foundation.get_main(), timer, *foundation.common_modes);
}

bool cgrun_foundation_is_running(void)
{
    if (foundation.get_main == NULL)
        return false;
    const void *mode = foundation.copy_mode(foundation.get_main());
    if (mode != NULL)
        foundation.release(mode);
    return mode != NULL;
}

uint32_t cgrun_foundation_fires(void) { return __atomic_load_n(&fires, __ATOMIC_RELAXED); }
