// SPDX-License-Identifier: Apache-2.0
// The slow path of a lock, and the lock under the Thread Sanitizer.

#define _GNU_SOURCE

#include "cgrun.h"
#include "sanitized.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cgrun_lock_needs_fence = true;

// This constructor runs before any thread takes a lock. The command of membarrier(2) exists since Linux 4.14. A sandbox
// may forbid the call, now or later.
__attribute__((constructor(102))) static void choose(void)
{
    cgrun_lock_needs_fence =
        IS_SANITIZED || syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void cgrun_lock_init(cgrun_lock *lock)
{
    *lock = (cgrun_lock){.word = CGRUN_LOCK_FREE};
    if (!IS_SANITIZED)
        return;
    lock->word = CGRUN_LOCK_TAKEN;
    lock->mutex = malloc(sizeof *lock->mutex);
    pthread_mutex_init(lock->mutex, NULL);
}

// How often a thread tries to take a lock before it sleeps. A lock is held for less than a microsecond, unless its
// holder was preempted. On a machine with one processor, the holder is always preempted.
enum { LOOKS = 40 };

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// In a forked child, a thread of the parent may hold the lock, which then stays locked. Every public function checks
// for the fork before it takes a lock. If a function does not check, this limit ends the child, which would otherwise
// hang forever.
enum { LOOKS_IN_A_CHILD = 20000 };

static __attribute__((noreturn, noinline)) void end_child(void)
{
    cgrun_end_process("GRunLoop: this process was forked and did not exec(). It needs a lock that another thread held "
                      "during fork(). Call exec() after fork(), or start the child with GSubprocess");
}

void cgrun_lock_relax(int *looks)
{
    if (*looks < LOOKS) {
        *looks += 1;
        relax();
    } else {
        if (cgrun_has_forked() && ++*looks > LOOKS_IN_A_CHILD)
            end_child();
        // sched_yield() is not used: a holder of a lower real-time priority would never run, and so never release the
        // lock.
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

// The longest sleep before a waiting thread tries again; NULL if it sleeps until it is woken.
static const struct timespec *longest_sleep;

// Called if membarrier(2) fails, because the process has sandboxed itself. From now on each release executes a fence. A
// release that has already begun executes no fence, and may overlook a sleeping thread. The library cannot know when
// the last such release ends, so every sleep has a time limit from now on.
static __attribute__((noinline)) void go_over_to_fences(void)
{
    static const struct timespec moment = {.tv_nsec = 10000000};
    __atomic_store_n(&longest_sleep, &moment, __ATOMIC_SEQ_CST);
    __atomic_store_n(&cgrun_lock_needs_fence, true, __ATOMIC_SEQ_CST);
}

// Executes a memory barrier on every thread of the process. A thread that releases the lock stores that the lock is
// free, then loads `owed`. The processor may swap these two accesses. A thread that is about to sleep increments
// `owed`, calls this function, and then tries to take the lock. So either the releasing thread sees `owed`, or the
// other thread takes the free lock. Only a thread that is about to sleep executes the barrier, because a sleep is
// expensive anyway.
static void finish_everywhere(void)
{
    if (!cgrun_lock_needs_fence) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
            return;
        go_over_to_fences();
    }
    // Each release also executes a fence, so the release's store and load are in order.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool try_to_take(cgrun_lock *lock)
{
    return IS_SANITIZED ? pthread_mutex_trylock(lock->mutex) == 0 : cgrun_lock_try(lock);
}

static __attribute__((noinline)) void wait_in_child(cgrun_lock *lock)
{
    for (int looks = 0; !try_to_take(lock);)
        cgrun_lock_relax(&looks);
}

bool cgrun_lock_take_within(cgrun_lock_ref lock, int64_t span)
{
    if (try_to_take(lock))
        return true;
    int64_t end = cgrun_now() + span;
    for (int looks = 0; cgrun_now() < end;) {
        cgrun_lock_relax(&looks);
        if (try_to_take(lock))
            return true;
    }
    return false;
}

void cgrun_lock_wait(cgrun_lock *lock)
{
    if (G_UNLIKELY(cgrun_has_forked())) {
        wait_in_child(lock);
        return;
    }
    if (IS_SANITIZED) {
        pthread_mutex_lock(lock->mutex);
        return;
    }
    for (int look = 0; look < LOOKS; look++) {
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == CGRUN_LOCK_FREE && cgrun_lock_try(lock))
            return;
        relax();
    }
    for (;;) {
        // `turn` is read before `owed` is incremented. If a release sends the wake-up before this thread sleeps, `turn`
        // has changed, and FUTEX_WAIT returns immediately.
        uint32_t turn = __atomic_load_n(&lock->turn, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&lock->owed, 1, __ATOMIC_SEQ_CST);
        finish_everywhere();
        // If this call takes the lock, `owed` stays incremented. This only causes a needless wake-up, which is
        // harmless.
        if (cgrun_lock_try(lock))
            return;
        const struct timespec *longest = __atomic_load_n(&longest_sleep, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &lock->turn, FUTEX_WAIT_PRIVATE, turn, longest, NULL, 0);
        if (cgrun_lock_try(lock))
            return;
    }
}

void cgrun_lock_wake(cgrun_lock *lock)
{
    uint32_t owed = __atomic_load_n(&lock->owed, __ATOMIC_RELAXED);
    do {
        if (owed == 0)
            return;
    } while (!__atomic_compare_exchange_n(&lock->owed, &owed, owed - 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    __atomic_fetch_add(&lock->turn, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &lock->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cgrun_lock_give_specially(cgrun_lock *lock)
{
    if (IS_SANITIZED) {
        pthread_mutex_unlock(lock->mutex);
        return;
    }
    __atomic_store_n(&lock->word, CGRUN_LOCK_FREE, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    cgrun_lock_wake(lock);
}
