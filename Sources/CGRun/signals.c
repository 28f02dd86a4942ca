// SPDX-License-Identifier: Apache-2.0
// The library's signal handler, and the listeners of each signal.
//
// A listener has an eventfd. The handler only adds 1 to the eventfd of each listener for the signal. The kernel keeps
// the count, and wakes the loops that poll the eventfd.
//
// A signal is in one of these states. The last column is the signal's entry in the array `former`.
//
//              listeners   its disposition               former
//   free       none        is not ours                   -
//   heard      some        is our handler                the disposition before ours, to be restored
//   taken      some        is other code's, which was    the disposition before ours; it is not restored, because
//                          installed after ours          the present disposition is not ours to change
//   stale      none        is our handler: other code    the disposition that the first signal restores, so that
//                          restored a copy, saved while  no signal is swallowed
//                          the signal was heard
//
// The states change as follows:
//
//   free or stale to heard: the first listener is added.
//   heard to free:          the last listener stops, and the former disposition is restored.
//   heard to taken:         other code installs its own handler.
//   taken to heard:         another listener is added, unless it is refused (EBUSY).
//   taken to free:          the last listener stops, and nothing else is changed.
//   stale to free:          the signal arrives, and the handler restores the former disposition.
//
// Except in the handler, listeners and dispositions change only while the listeners' lock is held
// (SignalListener.swift). The handler takes no lock, because it may run on the thread that holds the lock.
//
// A handler must not restore the former disposition after a first listener was added, because that listener would get
// no signals. So a handler checks for listeners and restores the disposition between enter() and leave(). Code that
// adds the first listener puts it into the list, then waits for the handlers, and then reads the disposition.
//
// signalfd(2) is not used, because every thread would have to block the signal. If the program blocks the signal late,
// threads that started before do not block it, and the signal kills the process. If the program blocks the signal
// early, child programs inherit the mask, and do not react to SIGTERM, for example.

#define _GNU_SOURCE

#include "cgrun.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cgrun_listener {
    struct cgrun_listener *next;
    struct cgrun_listener *previous; // the handler does not use this
    int signal;
    int event;
};

// The handler reads these lists without a lock. A listener or disposition that is removed is freed when no handler can
// use it any more.
static cgrun_listener *listeners[_NSIG];
static struct sigaction *former[_NSIG];
static pid_t process;

// Each element of `inside`, called a row, counts handlers between enter() and leave(). A handler counts in the row that
// was open when the handler entered.
static int inside[2];
static unsigned open_row;

static unsigned enter(void)
{
    unsigned row = __atomic_load_n(&open_row, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&inside[row], 1, __ATOMIC_SEQ_CST);
    return row;
}

static void leave(unsigned row) { __atomic_fetch_sub(&inside[row], 1, __ATOMIC_SEQ_CST); }

// Waits until no handler can use a listener or disposition that was removed before the call. The function closes each
// row in turn, and waits until the closed row is empty. New handlers enter the other row meanwhile. With a single row,
// a flood of signals could make this function wait forever.
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
        // In libc's write(), pthread_cancel() could end the thread, and `inside` would count this handler forever.
        syscall(SYS_write, each->event, &one, sizeof one);
    leave(row);
}

static void note_signal(int signal, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action)
{
    return action->sa_sigaction == note_signal;
}

// Returns whether the kernel has called our handler. The kernel calls our handler with all signals blocked. A handler
// of other code may also call our handler, but most likely without blocking all signals.
static bool is_called_by_kernel(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD)
        && sigismember(&mask, SIGUSR2) && sigismember(&mask, SIGALRM);
}

// Replaces our handler by the former disposition. If another thread installs a disposition between the first two calls
// of sigaction(), the third call restores that disposition. If there is no former disposition, the program has copied
// our handler from another signal. Then the signal gets the default disposition.
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

// Called if the signal has no listener. Restores the former disposition, and sends the signal to this thread again,
// with the same information. The signal is pending until this handler returns. Then the former disposition applies to
// the signal. If several threads execute this function, the first one restores the disposition, and each thread sends
// its own signal again. If another thread has added a listener meanwhile, that listener gets the signal.
static void act_as_before(int signal, siginfo_t *info)
{
    if (!is_called_by_kernel())
        return;
    unsigned row = enter();
    if (!__atomic_load_n(&listeners[signal], __ATOMIC_SEQ_CST))
        put_back(signal);
    leave(row);
    // A sandbox may forbid this system call but allow raise().
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info) != 0)
        raise(signal);
}

// The handler. It runs on any thread at any time, so it uses only system calls and atomic operations, and restores
// errno.
static void note_signal(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    (void)context;
    if (!__atomic_load_n(&listeners[signal], __ATOMIC_SEQ_CST))
        act_as_before(signal, info);
    // A forked child has the handler until exec(), but must not write to its parent's eventfds. The test is not
    // cgrun_has_forked(), which becomes true only a moment after fork(), and never after vfork().
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
    // SA_RESTART: code that does not expect signals must not fail with EINTR. SA_ONSTACK: threads of other languages,
    // such as Go, have small stacks, and a separate stack for handlers. While the handler runs all signals are blocked,
    // so handlers do not nest on that stack.
    struct sigaction ours = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    struct sigaction found;
    if (sigaction(signal, NULL, &found) == 0 && is_ours(&found))
        return true;
    sigaction(signal, &ours, &found);
    if (is_ours(&found))
        return true;
    if (must_stay(&found, replacing)) {
        // Another thread installed that handler after the caller's check, so put that handler back.
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
    // A handler that has read the eventfd's number may still write to it. After this wait the caller may close the
    // eventfd, and another file may get its number.
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
    // libc reserves some signals, and also refuses them with EINVAL. A sandbox sets another errno.
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
    // A handler that found no listener may be about to restore the former disposition, and must do so before install().
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
    // Restore the former disposition first. From then on, this disposition applies to arriving signals, so no signal is
    // lost.
    if (!listener->previous && !listener->next)
        put_back(listener->signal);
    remove_and_free(listener);
}
