// SPDX-License-Identifier: Apache-2.0
// Signals: the one handler of the process, and who listens.
//
// A listener is an eventfd. The handler adds 1 to each eventfd of its signal, and that is all: the kernel counts, wakes
// whoever waits, and loses nothing.
//
// What a signal can be in, `count` being how many listen to it:
//
//              count   its disposition              former
//   free       0       is not ours                  -
//   heard      > 0     is our handler               what was there before, to be given back
//   taken      > 0     is somebody's, who came      what was there before; not given back, since it is not ours to
//                      after us                     change any more
//
// free to heard: the first one listens. heard to free: the last one stops, and the former disposition is back. heard to
// taken: somebody calls sigaction(). taken to heard: another one listens, who is refused as at first. taken to free:
// the last one stops, and nothing is changed. Whoever changes `count` or a disposition holds the lock of the listeners,
// which is in Swift. The handler takes no lock: it may run on the thread that has it.
//
// Not signalfd(2): a mask that is set late leaves threads in which the signal kills the process, and one that is set
// early is inherited by every program that is started, which then ignores SIGTERM.

#define _GNU_SOURCE

#include "cgrun.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

// Never freed, and always in the list of its signal, where the handler may be: only used for the next one.
struct cgrun_listener {
    struct cgrun_listener *next;
    int signal;
    int event;  // -1: free
    int inside; // how many handlers are looking at it
};

static cgrun_listener *listeners[_NSIG];
static unsigned counts[_NSIG];
static struct sigaction former[_NSIG];
static pid_t process;

// On any thread, at any time: system calls and atomic operations only, and nobody sees another errno.
static void note_signal(int signal)
{
    int error = errno;
    // A forked child has the handler until exec(), and the eventfds are its parent's. Not cgrun_has_forked(), which is
    // set a moment later, and never after vfork().
    if (getpid() == __atomic_load_n(&process, __ATOMIC_RELAXED)) {
        const uint64_t one = 1;
        for (cgrun_listener *each = __atomic_load_n(&listeners[signal], __ATOMIC_ACQUIRE); each; each = each->next) {
            // Either whoever stops listening sees that we are inside, or we see that it has stopped.
            __atomic_fetch_add(&each->inside, 1, __ATOMIC_SEQ_CST);
            int event = __atomic_load_n(&each->event, __ATOMIC_SEQ_CST);
            // Not libc's write(), in which pthread_cancel() could end the thread: it would stay inside for ever.
            if (event >= 0)
                syscall(SYS_write, event, &one, sizeof one);
            __atomic_fetch_sub(&each->inside, 1, __ATOMIC_SEQ_CST);
        }
    }
    errno = error;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_handler == note_signal;
}

static bool is_foreign(const struct sigaction *action)
{
    return !is_ours(action) && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void install(int signal)
{
    // SA_RESTART: code that knows of no signals must not fail with EINTR. SA_ONSTACK: threads of other languages, as
    // Go's, have small stacks and another one for handlers. All signals wait meanwhile, so that one frame is enough
    // there.
    struct sigaction ours = {.sa_handler = note_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, &former[signal]);
}

static cgrun_listener *free_listener(int signal)
{
    for (cgrun_listener *each = listeners[signal]; each; each = each->next)
        if (each->event < 0)
            return each;
    cgrun_listener *made = g_new0(cgrun_listener, 1);
    *made = (cgrun_listener){.next = listeners[signal], .signal = signal, .event = -1};
    __atomic_store_n(&listeners[signal], made, __ATOMIC_RELEASE);
    return made;
}

cgrun_listener *cgrun_signal_listen(int signal, int event, bool replacing)
{
    struct sigaction found;
    // libc keeps some for itself: it refuses them here.
    if (signal <= 0 || signal >= _NSIG || sigaction(signal, NULL, &found) != 0) {
        errno = EINVAL;
        return NULL;
    }
    if (is_foreign(&found) && !replacing) {
        errno = EBUSY;
        return NULL;
    }
    cgrun_listener *listener = free_listener(signal);
    __atomic_store_n(&listener->event, event, __ATOMIC_SEQ_CST);
    __atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
    if (!is_ours(&found))
        install(signal);
    counts[signal]++;
    return listener;
}

void cgrun_signal_stop(cgrun_listener *listener)
{
    int signal = listener->signal;
    struct sigaction found;
    // First: what comes from now on is for whoever was there before, and is not swallowed.
    if (--counts[signal] == 0 && sigaction(signal, NULL, &found) == 0 && is_ours(&found))
        sigaction(signal, &former[signal], NULL);
    __atomic_store_n(&listener->event, -1, __ATOMIC_SEQ_CST);
    // A handler that has read the number writes to it; only then may it be closed, and be another file's.
    for (int looks = 0; __atomic_load_n(&listener->inside, __ATOMIC_SEQ_CST) != 0;)
        cgrun_lock_relax(&looks);
}
