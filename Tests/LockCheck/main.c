// SPDX-License-Identifier: Apache-2.0
// Tests the lock in a process that sandboxes itself after the library was loaded. From then on membarrier(2) fails, and
// a thread that sleeps for the lock must still be woken. This is a separate program, because a filter is permanent:
// grun-lock-check EPERM or ENOSYS. `grun-lock-check fork` tests a forked child. LockTests runs both. `grun-lock-check
// barrier` runs long enough to miss a sleeper without its barrier, for items-bite. scripts/lock-model checks the same
// in a model.

#define _GNU_SOURCE

#include <cgrun.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 1000, SECONDS = 2, SECONDS_FOR_A_BARRIER = 20, PATIENCE = 20, LINES = 1 << 14, LINE = 1024 };

static cgrun_lock lock;
static unsigned long guarded;
/// The round that the second thread shall make, and the last round that it has made. Each thread waits for the other.
static unsigned long wanted, had;
static const unsigned long NO_MORE = ~0ul;
static bool is_over;

/// From now on, in every thread of the process, membarrier fails with `error`. Other calls are allowed.
static bool forbid_membarrier(int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static void relax(unsigned looks)
{
    if (looks % 1024 == 1023)
        sched_yield();
}

/// Takes the lock while the other thread is about to release it.
static void *follow(void *unused)
{
    (void)unused;
    for (unsigned long round = 1;; round++) {
        for (unsigned looks = 0; __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) < round; looks++)
            relax(looks);
        if (__atomic_load_n(&wanted, __ATOMIC_RELAXED) == NO_MORE)
            return NULL;
        cgrun_lock_take(&lock);
        guarded++;
        cgrun_lock_give(&lock);
        __atomic_store_n(&had, round, __ATOMIC_RELEASE);
    }
}

/// Makes stores wait for memory. Meanwhile the processor executes loads ahead of its stores. The sleeper's barrier
/// exists for this case.
static void *lead(void *unused)
{
    (void)unused;
    unsigned char *memory = calloc(LINES, LINE);
    uint64_t random = UINT64_C(88172645463325252);
    for (unsigned long round = 1; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); round++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        cgrun_lock_take(&lock);
        guarded++;
        __atomic_store_n(&wanted, round, __ATOMIC_RELEASE);
        // During this loop the other thread stops spinning and sleeps.
        for (unsigned looks = (random >> 40) % 8000; looks > 0; looks--)
            __asm__ volatile("" ::: "memory");
        for (unsigned line = 0; line < 8; line++)
            memory[((random >> 5 * line) % LINES) * LINE] = 1;
        cgrun_lock_give(&lock);
        for (unsigned looks = 0; __atomic_load_n(&had, __ATOMIC_ACQUIRE) < round; looks++)
            relax(looks);
    }
    __atomic_store_n(&wanted, NO_MORE, __ATOMIC_RELEASE);
    free(memory);
    return NULL;
}

/// The patience in seconds. The tests shorten it if they expect a failure.
static int patience(void)
{
    const char *wanted = getenv("GRUN_PATIENCE");
    return wanted != NULL ? atoi(wanted) : PATIENCE;
}

/// Waits until the condition holds. Ends the process if the rounds stop.
static void watch(bool (*is_enough)(unsigned long rounds))
{
    unsigned long last = 0;
    int64_t moved = cgrun_now();
    while (!is_enough(last)) {
        usleep(1000);
        unsigned long now = __atomic_load_n(&had, __ATOMIC_RELAXED);
        if (now > last) {
            last = now;
            moved = cgrun_now();
        } else if (cgrun_now() - moved > patience() * INT64_C(1000000000)) {
            printf("lock-check: a thread sleeps for a free lock\n");
            exit(1);
        }
    }
}

static unsigned long enough;
static int64_t end;

static bool has_made_enough(unsigned long rounds)
{
    return rounds >= enough && cgrun_now() >= end;
}

static bool has_ended(unsigned long rounds)
{
    (void)rounds;
    return __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) == NO_MORE;
}

static void *take_once(void *unused)
{
    cgrun_lock_take(&lock);
    cgrun_lock_give(&lock);
    __atomic_store_n(&wanted, NO_MORE, __ATOMIC_RELEASE);
    return unused;
}

/// A thread that was releasing the lock when membarrier first failed may have missed a thread that was about to sleep.
static void overlook_a_sleeper(void)
{
    pthread_t sleeper;
    wanted = lock.owed = 0;
    cgrun_lock_take(&lock);
    pthread_create(&sleeper, NULL, take_once, NULL);
    while (__atomic_load_n(&lock.owed, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    __atomic_store_n(&lock.word, CGRUN_LOCK_FREE, __ATOMIC_SEQ_CST);
    watch(has_ended);
    pthread_join(sleeper, NULL);
}

static int fail(const char *what)
{
    printf("lock-check: %s\n", what);
    return 1;
}

/// The lock is held during the fork, as if by another thread, which the child does not have.
static int want_it_in_a_child(void)
{
    cgrun_watch_fork();
    cgrun_lock_take(&lock);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        alarm(PATIENCE);
        cgrun_lock_take(&lock);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGALRM)
        return fail(WIFSIGNALED(status) ? "a child hangs" : "a child has taken a lock that another thread has");
    puts("lock-check: passed");
    return 0;
}

static pthread_t leader, follower;

static void begin(void)
{
    pthread_create(&leader, NULL, lead, NULL);
    pthread_create(&follower, NULL, follow, NULL);
}

static bool have_taken_turns(void)
{
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    watch(has_ended);
    pthread_join(leader, NULL);
    pthread_join(follower, NULL);
    return guarded == 2 * had;
}

static void make_rounds(unsigned seconds)
{
    enough = __atomic_load_n(&had, __ATOMIC_RELAXED) + ROUNDS;
    end = cgrun_now() + seconds * INT64_C(1000000000);
    watch(has_made_enough);
}

static int pass(void)
{
    puts("lock-check: passed");
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "ENOSYS";
    setvbuf(stdout, NULL, _IOLBF, 0);
    cgrun_lock_init(&lock);
    if (strcmp(what, "fork") == 0)
        return want_it_in_a_child();
    if (cgrun_lock_needs_fence) {
        puts("lock-check: there is no membarrier here, or a sanitizer: skipped");
        return 0;
    }
    begin();
    if (strcmp(what, "barrier") == 0) {
        make_rounds(SECONDS_FOR_A_BARRIER);
        return have_taken_turns() ? pass() : fail("two threads had the lock at the same time");
    }
    make_rounds(0);
    int error = strcmp(what, "EPERM") == 0 ? EPERM : ENOSYS;
    if (!forbid_membarrier(error))
        return fail("no filter can be set");
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 || errno != error)
        return fail("membarrier is still allowed");
    unsigned long before = __atomic_load_n(&had, __ATOMIC_RELAXED);
    make_rounds(SECONDS);
    if (!have_taken_turns())
        return fail("two threads had the lock at the same time");
    fprintf(stderr, "lock-check: %lu rounds, %lu of them without membarrier\n", had, had - before);
    overlook_a_sleeper();
    if (!cgrun_lock_needs_fence)
        return fail("no thread has switched to the fence");
    return pass();
}
