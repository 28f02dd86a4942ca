// SPDX-License-Identifier: Apache-2.0
// Signals: the one handler of the process, and who listens.
//
// A listener is an eventfd. The handler adds 1 to each eventfd of its signal, and that is all: the kernel counts, wakes
// whoever waits, and loses nothing.
//
// What a signal can be in:
//
//              listeners   its disposition              former
//   free       none        is not ours                  -
//   heard      some        is our handler               what was there before, to be given back
//   taken      some        is somebody's, who came      what was there before; not given back, since it is not ours
//                          after us                     to change any more
//   stale      none        is our handler: somebody     what the first signal puts back, so that none is swallowed
//                          put back a copy that they
//                          had saved while it was heard
//
// free or stale to heard: the first one listens. heard to free: the last one stops, and the former disposition is back.
// heard to taken: somebody calls sigaction(). taken to heard: another one listens, who is refused as at first. taken to
// free: the last one stops, and nothing is changed. stale to free: a signal comes. Whoever else changes the listeners
// or a disposition holds the lock of the listeners, which is in Swift. The handler takes no lock: it may run on the
// thread that has it.
//
// stale to free, by a handler, must not happen after stale to heard: the new listener would hear nothing. So a handler
// looks at the listeners and changes the disposition while it is inside, and the first listener waits for the handlers
// between its entry in the list and its look at the disposition.
//
// Not signalfd(2): a mask that is set late leaves threads in which the signal kills the process, and one that is set
// early is inherited by every program that is started, which then ignores SIGTERM.

#define _GNU_SOURCE

#include "cgrun.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cgrun_listener {
    struct cgrun_listener *next;
    struct cgrun_listener *previous; // not for the handler
    int signal;
    int event;
};

// What the handler follows without a lock. What is taken out of here is freed when no handler can have it any more.
static cgrun_listener *listeners[_NSIG];
static struct sigaction *former[_NSIG];
static pid_t process;

// How many handlers are looking, in the row that was open when they came.
static int inside[2];
static unsigned open_row;

static unsigned enter(void)
{
    unsigned row = __atomic_load_n(&open_row, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&inside[row], 1, __ATOMIC_SEQ_CST);
    return row;
}

static void leave(unsigned row) { __atomic_fetch_sub(&inside[row], 1, __ATOMIC_SEQ_CST); }

// After this no handler has anything that was taken out before: each of the rows was empty once. New handlers come into
// the other row meanwhile, or a flood of signals would never let it end.
static void wait_for_handlers(void)
{
    for (int rows = 0; rows < 2; rows++) {
        unsigned row = __atomic_fetch_xor(&open_row, 1, __ATOMIC_SEQ_CST);
        for (int looks = 0; __atomic_load_n(&inside[row], __ATOMIC_SEQ_CST) != 0;)
            cgrun_lock_relax(&looks);
    }
}

static void tell_listeners(int signal)
{
    const uint64_t one = 1;
    unsigned row = enter();
    for (cgrun_listener *each = __atomic_load_n(&listeners[signal], __ATOMIC_SEQ_CST); each;
         each = __atomic_load_n(&each->next, __ATOMIC_SEQ_CST))
        // Not libc's write(), in which pthread_cancel() could end the thread: it would stay inside for ever.
        syscall(SYS_write, each->event, &one, sizeof one);
    leave(row);
}

static void note_signal(int signal, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action)
{
    return action->sa_sigaction == note_signal;
}

// Whether the kernel has called our handler: it blocks all signals then. Another handler that has saved ours, and calls
// it, has most likely not.
static bool is_called_by_kernel(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD)
        && sigismember(&mask, SIGUSR2) && sigismember(&mask, SIGALRM);
}

// Puts the former disposition back in place of our handler. If another thread installs a disposition between the look
// and the change, that one stays. Without a former one the program has copied our handler from another signal.
static void put_back(int signal)
{
    const struct sigaction *known = __atomic_load_n(&former[signal], __ATOMIC_SEQ_CST);
    struct sigaction found, before = {.sa_handler = SIG_DFL};
    if (known != NULL)
        before = *known;
    if (sigaction(signal, NULL, &found) != 0 || !is_ours(&found))
        return;
    if (sigaction(signal, &before, &found) == 0 && !is_ours(&found))
        sigaction(signal, &found, NULL);
}

// Nobody listens. The former disposition takes its place again, whatever that is, and has the signal: it is sent to
// this thread once more, as it came, and is pending until this handler has returned. On several threads at once the
// first one puts it back, and each sends its own again. If somebody listens by now, the listener gets the signal.
static void act_as_before(int signal, siginfo_t *info)
{
    if (!is_called_by_kernel())
        return;
    unsigned row = enter();
    if (!__atomic_load_n(&listeners[signal], __ATOMIC_SEQ_CST))
        put_back(signal);
    leave(row);
    // A sandbox may know only the latter.
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info) != 0)
        raise(signal);
}

// On any thread, at any time: system calls and atomic operations only, and nobody sees another errno.
static void note_signal(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    (void)context;
    if (!__atomic_load_n(&listeners[signal], __ATOMIC_SEQ_CST))
        act_as_before(signal, info);
    // A forked child has the handler until exec(), and the eventfds are its parent's. Not cgrun_has_forked(), which is
    // set a moment later, and never after vfork().
    else if (getpid() == __atomic_load_n(&process, __ATOMIC_RELAXED))
        tell_listeners(signal);
    errno = error;
}

static bool is_foreign(const struct sigaction *action)
{
    return !is_ours(action) && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static bool must_stay(const struct sigaction *action, bool replacing)
{
    return !replacing && is_foreign(action);
}

// Makes our handler the disposition of the signal. Returns false if another handler in the process must stay.
static bool install(int signal, bool replacing)
{
    // SA_RESTART: code that knows of no signals must not fail with EINTR. SA_ONSTACK: threads of other languages, as
    // Go's, have small stacks and another one for handlers. All signals wait meanwhile, so that one frame is enough
    // there.
    struct sigaction ours = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    struct sigaction found;
    if (sigaction(signal, NULL, &found) == 0 && is_ours(&found))
        return true;
    sigaction(signal, &ours, &found);
    if (is_ours(&found))
        return true;
    if (must_stay(&found, replacing)) {
        // It was installed since the caller looked.
        sigaction(signal, &found, NULL);
        return false;
    }
    struct sigaction *older = former[signal], *newer = g_new(struct sigaction, 1);
    *newer = found;
    __atomic_store_n(&former[signal], newer, __ATOMIC_SEQ_CST);
    wait_for_handlers();
    g_free(older);
    return true;
}

static void add(cgrun_listener *listener)
{
    cgrun_listener *next = listener->next;
    if (next)
        next->previous = listener;
    __atomic_store_n(&listeners[listener->signal], listener, __ATOMIC_SEQ_CST);
}

static void remove_and_free(cgrun_listener *listener)
{
    cgrun_listener *previous = listener->previous, *next = listener->next;
    if (next)
        next->previous = previous;
    __atomic_store_n(previous ? &previous->next : &listeners[listener->signal], next, __ATOMIC_SEQ_CST);
    // A handler that has read the number writes to it; only then may it be closed, and be another file's.
    wait_for_handlers();
    g_free(listener);
}

cgrun_listener *cgrun_signal_listen(int signal, int event, bool replacing)
{
    struct sigaction found;
    if (signal <= 0 || signal >= _NSIG) {
        errno = EINVAL;
        return NULL;
    }
    // libc keeps some signals for itself, and refuses them here with EINVAL, too. A sandbox sets another number.
    if (sigaction(signal, NULL, &found) != 0)
        return NULL;
    if (must_stay(&found, replacing)) {
        errno = EBUSY;
        return NULL;
    }
    __atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
    cgrun_listener *listener = g_new(cgrun_listener, 1), *next = listeners[signal];
    *listener = (cgrun_listener){.next = next, .signal = signal, .event = event};
    add(listener);
    // A handler that has found no listener may be about to put the former disposition back.
    if (!next)
        wait_for_handlers();
    if (!install(signal, replacing)) {
        remove_and_free(listener);
        errno = EBUSY;
        return NULL;
    }
    return listener;
}

void cgrun_signal_stop(cgrun_listener *listener)
{
    // First: what comes from now on is for whoever was there before, and is not swallowed.
    if (!listener->previous && !listener->next)
        put_back(listener->signal);
    remove_and_free(listener);
}
