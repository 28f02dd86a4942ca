// SPDX-License-Identifier: Apache-2.0
// The slow half of a lock, and what it is under the Thread Sanitizer.

#define _GNU_SOURCE

#include "cgrun.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED __has_feature(thread_sanitizer)
#else
#define IS_SANITIZED 0
#endif

const bool cgrun_locks_are_mutexes = IS_SANITIZED;

void cgrun_lock_init(cgrun_lock *lock)
{
    if (cgrun_locks_are_mutexes)
        pthread_mutex_init(&lock->mutex, NULL);
    else
        lock->word = CGRUN_LOCK_FREE;
}

// What is done under a lock takes less than a microsecond, unless its thread was preempted. With one processor it always was.
enum { LOOKS = 40 };

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void cgrun_lock_relax(int *looks)
{
    if (*looks < LOOKS) {
        *looks += 1;
        relax();
    } else {
        // Not sched_yield(): a thread of a lower real-time priority would never get to give it up.
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

void cgrun_lock_wait(cgrun_lock *lock)
{
    if (cgrun_locks_are_mutexes) {
        pthread_mutex_lock(&lock->mutex);
        return;
    }
    for (int look = 0; look < LOOKS; look++) {
        uint32_t state = CGRUN_LOCK_FREE;
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == CGRUN_LOCK_FREE &&
            __atomic_compare_exchange_n(&lock->word, &state, CGRUN_LOCK_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        relax();
    }
    // From here on it is taken as one that others wait for: whether they do is not known, and a wake-up too many does no harm.
    while (__atomic_exchange_n(&lock->word, CGRUN_LOCK_AWAITED, __ATOMIC_ACQUIRE) != CGRUN_LOCK_FREE)
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, CGRUN_LOCK_AWAITED, NULL, NULL, 0);
}

void cgrun_lock_wake(cgrun_lock *lock)
{
    if (cgrun_locks_are_mutexes)
        pthread_mutex_unlock(&lock->mutex);
    else
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
