// SPDX-License-Identifier: Apache-2.0
// The slow half of a lock, and what it is under the Thread Sanitizer.

#define _GNU_SOURCE

#include "cgrun.h"
#include "sanitized.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cgrun_lock_needs_fence = true;

// Before anybody has a lock. Linux 4.14 has what it asks for; a sandbox may forbid it, now or later.
__attribute__((constructor)) static void choose(void)
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

// A lock is held for less than a microsecond, unless its thread was preempted. On one processor it always was.
enum { LOOKS = 40 };

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// In a forked child the holder may be a thread of the parent. Every public function checks for the fork before it takes
// a lock, so this is not reached. A function that does not check ends the child here, and does not hang for ever.
enum { LOOKS_IN_A_CHILD = 20000 };

static __attribute__((noreturn, noinline)) void end_child(void)
{
    cgrun_end_process("GRunLoop: this process was forked and did not exec(), and what it wants now another thread had "
                      "locked in the parent. Call exec() after fork(), or start the child with GSubprocess");
}

void cgrun_lock_relax(int *looks)
{
    if (*looks < LOOKS) {
        *looks += 1;
        relax();
    } else {
        if (cgrun_has_forked() && ++*looks > LOOKS_IN_A_CHILD)
            end_child();
        // Not sched_yield(): a thread of a lower real-time priority would never get to give it up.
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

// How long to sleep before looking again; NULL: until woken.
static const struct timespec *longest_sleep;

// membarrier(2) fails: the process has sandboxed itself. From now on each release executes a fence. A release under way
// did not, and may overlook a sleeper. Nothing tells when the last such release is over, so sleeps stay limited from
// now on.
static __attribute__((noinline)) void go_over_to_fences(void)
{
    static const struct timespec moment = {.tv_nsec = 10000000};
    __atomic_store_n(&longest_sleep, &moment, __ATOMIC_SEQ_CST);
    __atomic_store_n(&cgrun_lock_needs_fence, true, __ATOMIC_SEQ_CST);
}

// The holder stores that the lock is free, then loads whether a wake-up is owed; its processor may swap the two. The
// sleeper does the opposite: it stores that a wake-up is owed, makes every processor finish its stores, and loads
// whether the lock is free. So either the holder sees the debt, or the sleeper sees the free lock. The sleeper pays for
// the barrier, and a sleep is expensive anyway.
static void finish_everywhere(void)
{
    if (!cgrun_lock_needs_fence) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
            return;
        go_over_to_fences();
    }
    // The holders' stores and loads are in order.
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
        // Read before the debt is stored: a holder that pays it increments `turn`, and then the futex does not sleep.
        uint32_t turn = __atomic_load_n(&lock->turn, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&lock->owed, 1, __ATOMIC_SEQ_CST);
        finish_everywhere();
        // Taken here, the debt stays: a wake-up too many does no harm, one too few would.
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
