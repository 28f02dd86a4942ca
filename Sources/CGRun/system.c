// SPDX-License-Identifier: Apache-2.0
// System calls that Swift does not import, logging, fork detection, and names of threads.

#define _GNU_SOURCE

#include "cgrun.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *cgrun_environment(const char *name) { return secure_getenv(name); }

bool cgrun_forked;
__thread void *cgrun_current_loop;
__thread const char *cgrun_caller;
__thread int cgrun_thread_kind;

static void note_fork(void)
{
    __atomic_store_n(&cgrun_forked, true, __ATOMIC_RELAXED);
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, note_fork);
}

void cgrun_watch_fork(void)
{
    // The handler is added only once, because handlers cannot be removed, and every fork() runs all of them.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
}

int cgrun_find_thread_kind(void)
{
    cgrun_thread_kind = gettid() == getpid() ? CGRUN_THREAD_MAIN : CGRUN_THREAD_OTHER;
    return cgrun_thread_kind;
}

void cgrun_set_thread_name(const char *name)
{
    char shown[CGRUN_THREAD_NAME];
    g_strlcpy(shown, name, sizeof shown);
    pthread_setname_np(pthread_self(), shown);
}

void cgrun_get_thread_name(char *name)
{
    name[0] = 0;
    pthread_getname_np(pthread_self(), name, CGRUN_THREAD_NAME);
}

// Polls without waiting. The system call poll() costs less than ppoll(), which copies a time and handles a signal mask.
// This code does not call libc's poll(), because it is a cancellation point.
static int look(struct pollfd *records, unsigned count)
{
#ifdef SYS_poll
    return syscall(SYS_poll, records, count, 0);
#else
    struct timespec none = {0};
    return syscall(SYS_ppoll, records, count, &none, NULL, (size_t)0);
#endif
}

int cgrun_poll(GPollFD *records, unsigned count, int64_t nanoseconds)
{
    // GPollFD has the same layout as pollfd, and GLib itself passes a GPollFD to poll().
    if (nanoseconds == 0)
        return look((struct pollfd *)records, count);
    if (nanoseconds < 0)
        return poll((struct pollfd *)records, count, -1);
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return ppoll((struct pollfd *)records, count, &time, NULL);
}

int cgrun_duplicate(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

int cgrun_duplicate_onto(int descriptor, int onto)
{
    return dup3(descriptor, onto, O_CLOEXEC);
}

// The Thread Sanitizer does not know sem_clockwait(). Without __tsan_acquire(), it would report a data race on the
// memory that the caller reads afterwards.
#if IS_SANITIZED
void __tsan_acquire(void *address);
#define NOTE_SIGNALLED(semaphore) __tsan_acquire(semaphore)
#else
#define NOTE_SIGNALLED(semaphore) ((void)0)
#endif

bool cgrun_semaphore_wait(sem_t *semaphore, int64_t until)
{
    struct timespec end = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
    int state, result;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    do
        result = until == INT64_MAX ? sem_wait(semaphore) : sem_clockwait(semaphore, CLOCK_MONOTONIC, &end);
    while (result != 0 && errno == EINTR);
    pthread_setcancelstate(state, NULL);
    if (result == 0)
        NOTE_SIGNALLED(semaphore);
    return result == 0;
}

int cgrun_event_new(void)
{
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void cgrun_event_signal(int event)
{
    uint64_t one = 1;
    while (write(event, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

// The functions below use syscall(), because libc's functions for the same calls are cancellation points. If
// pthread_cancel() ended a thread in libc's function, the lock of the thread's loop would stay locked forever.

static bool read_event(int event, uint64_t *count)
{
    long size;
    do
        size = syscall(SYS_read, event, count, sizeof *count);
    while (size < 0 && errno == EINTR);
    if (size >= 0 && size != sizeof *count)
        errno = EBADF;
    return size == sizeof *count;
}

bool cgrun_event_clear(int event)
{
    uint64_t count;
    return read_event(event, &count);
}

uint64_t cgrun_event_take(int event)
{
    uint64_t count;
    return read_event(event, &count) ? count : 0;
}

int cgrun_epoll_look(int epoll, struct epoll_event *events, int capacity)
{
#ifdef SYS_epoll_wait
    return syscall(SYS_epoll_wait, epoll, events, capacity, 0);
#else
    return syscall(SYS_epoll_pwait, epoll, events, capacity, 0, NULL, (size_t)0);
#endif
}

bool cgrun_is_readable(int descriptor)
{
    struct pollfd record = {.fd = descriptor, .events = POLLIN};
    return look(&record, 1) > 0;
}

void cgrun_close(int descriptor)
{
    syscall(SYS_close, descriptor);
}

int cgrun_timer_new(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

bool cgrun_timer_arm(int timer, int64_t time)
{
    struct itimerspec spec = {.it_value = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0;
}

bool cgrun_has_descriptors_left(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        // If a sandbox forbids pipe2(), try an eventfd instead. A GMainContext needs no other descriptor.
        int event = errno == EMFILE || errno == ENFILE ? -1 : cgrun_event_new();
        if (event >= 0)
            cgrun_close(event);
        return event >= 0;
    }
    cgrun_close(ends[0]);
    cgrun_close(ends[1]);
    return true;
}

void cgrun_log_critical(const char *message)
{
    g_log("GRunLoop", G_LOG_LEVEL_CRITICAL, "%s", message);
}

void cgrun_log_warning(const char *message)
{
    g_log("GRunLoop", G_LOG_LEVEL_WARNING, "%s", message);
}

void cgrun_end_process(const char *message)
{
    // This function does not use GLib's log. The log's handlers are code of the program, and in a forked child its
    // locks may stay locked forever.
    dprintf(STDERR_FILENO, "Fatal error: %s\n", message);
    abort();
}

const char *cgrun_own_file(void)
{
    Dl_info info;
    return dladdr((void *)cgrun_own_file, &info) && info.dli_fname ? info.dli_fname : "?";
}

int32_t cgrun_thread_id(void)
{
    static __thread int32_t known __attribute__((tls_model("initial-exec")));
    if (known == 0)
        known = gettid();
    return known;
}
