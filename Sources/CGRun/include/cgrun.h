// SPDX-License-Identifier: Apache-2.0
// The C functions that the Swift code calls: locks, the hub, the poller, libdispatch's entry points for a foreign run
// loop, and system calls that Swift does not import.
#ifndef CGRUN_H
#define CGRUN_H

#include "cgrun-perturb.h"
#include "cgrun-probe.h"

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>

G_BEGIN_DECLS

// MARK: Locks

// A lock that is not recursive. One atomic instruction takes the lock. Without contention, a plain store releases it.
// The release needs no fence. Before a thread sleeps for the lock, it makes every thread of the process execute a
// barrier (lock.c). In builds for the Thread Sanitizer the lock is a mutex, which the sanitizer understands.
typedef struct {
    uint32_t word;
    /// The number of wake-ups still to be sent: at least one for each sleeping thread.
    uint32_t owed;
    /// The number of wake-ups sent. Sleeping threads wait on this word (a futex).
    uint32_t turn;
    /// Used in builds for the Thread Sanitizer only. In these builds `word` is always CGRUN_LOCK_TAKEN, so every call
    /// takes the slow path.
    pthread_mutex_t *mutex;
    /// The GRunLoop that owns the lock; NULL if no loop does. Only Swift code uses this field.
    void *owner;
} cgrun_lock;
/// Swift imports this type as the struct `Lock` (Support/Lock.swift). The functions below whose swift_name begins with
/// `Lock.` are its methods.
typedef cgrun_lock *cgrun_lock_ref __attribute__((swift_newtype(struct), swift_name("Lock")));
enum { CGRUN_LOCK_FREE, CGRUN_LOCK_TAKEN };
/// True if each release of a lock takes the slow path, with a full fence: membarrier(2) is missing or forbidden, or the
/// Thread Sanitizer is used. After the library is loaded, the value changes at most once, to true, so a plain read is
/// enough.
extern bool cgrun_lock_needs_fence __attribute__((visibility("hidden")));
void cgrun_lock_init(cgrun_lock *lock);
void cgrun_lock_wait(cgrun_lock *lock);
void cgrun_lock_wake(cgrun_lock *lock);
void cgrun_lock_give_specially(cgrun_lock *lock);

__attribute__((always_inline)) static inline bool cgrun_lock_try(cgrun_lock *lock)
{
    uint32_t state = CGRUN_LOCK_FREE;
    return __atomic_compare_exchange_n(
        &lock->word, &state, CGRUN_LOCK_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

__attribute__((always_inline, swift_name("Lock.lock(self:)"))) static inline void cgrun_lock_take(cgrun_lock_ref lock)
{
    if (__builtin_expect(!cgrun_lock_try(lock), false))
        cgrun_lock_wait(lock);
}

__attribute__((always_inline, swift_name("Lock.unlock(self:)"))) static inline void cgrun_lock_give(cgrun_lock_ref lock)
{
    if (__builtin_expect(cgrun_lock_needs_fence, false)) {
        cgrun_lock_give_specially(lock);
        return;
    }
    __atomic_store_n(&lock->word, CGRUN_LOCK_FREE, __ATOMIC_RELEASE);
    // The compiler must not load `owed` before it stores `word`. The processor may reorder these accesses: see
    // finish_everywhere() in lock.c.
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(__atomic_load_n(&lock->owed, __ATOMIC_RELAXED) != 0, false))
        cgrun_lock_wake(lock);
}

/// Takes the lock within `span` nanoseconds, or returns false.
__attribute__((swift_name("Lock.lock(self:within:)"))) bool cgrun_lock_take_within(cgrun_lock_ref lock, int64_t span);

/// Pauses a thread that waits for a lock or a flag bit. `*looks` counts the calls, from 0. If the thread still waits
/// after 40 calls, the holder was most likely preempted, so each further call sleeps for 50 microseconds. In a forked
/// child, about 20,000 calls end the process. There the holder may be a thread of the parent, which never releases the
/// lock.
void cgrun_lock_relax(int *looks);

// MARK: The hub

/// The functions of a run loop that its hub calls. The hub holds no lock of GLib during these calls. All except
/// `release` are called on the loop's own thread only.
typedef struct {
    /// Returns whether there is work to do now. Called in the hub's prepare(); must run no user code. `is_stale`: the
    /// host has dispatched a foreign source since the last head of a pass (dispatched.h). `*watched` receives a bit for
    /// each poll record that the next poll must watch.
    bool (*prepare)(void *loop, bool is_stale, unsigned *watched);
    /// Returns whether there is work to do now. Called in the hub's check(); must run no user code. `found` has a bit
    /// for each poll record that is ready, and CGRUN_HUB_CLOSED if a record's descriptor is not open. `has_slept`:
    /// there are sentinels, and this poll took long enough to be a sleep.
    bool (*check)(void *loop, bool has_slept, unsigned found);
    /// Runs passes. Only `dispatch` and `idle` call user code.
    void (*dispatch)(void *loop);
    /// Returns whether the host may sleep: beforeWaiting was sent, afterWaiting is still due, and no idle work is left.
    /// Called only while there are sentinels. Must run no user code.
    bool (*may_sleep)(void *loop);
    /// Prepares the host's sleep: makes a pass, sends beforeWaiting, or calls idle work. Called while there are
    /// sentinels, if no other source of the context is ready and `may_sleep` returns false. `is_stale` is as in
    /// `prepare`.
    void (*idle)(void *loop, bool is_stale);
    /// Releases the hub's reference to the loop. Called when GLib frees the hub, on any thread. Runs no user code.
    void (*release)(void *loop);
} cgrun_hub_funcs;

/// Creates the hub: the GSource that represents a run loop in a context. It has priority 0, can recurse, and is named
/// "GRunLoop". The hub takes over a reference to `loop`, so that the loop lives while a thread executes a function of
/// `funcs`. A hub with a NULL `loop` is only a canary: it records whether GLib has called its check(). The loop's
/// thread is the main thread if `is_main` is true, and the calling thread otherwise.
GSource *cgrun_hub_new(const cgrun_hub_funcs *funcs, void *loop, bool is_main);

/// Removes the hub and its sentinels from their context permanently. A second call does nothing. Threads: any,
/// including a thread that is ending.
void cgrun_hub_close(GSource *hub);

/// Makes the hub dormant or active. A dormant hub and its sentinels never become ready, and record nothing about the
/// host. The hub is dormant while our own driver prepares, polls and checks the context.
void cgrun_hub_set_dormant(GSource *hub, bool dormant);

/// Leaves the next iterations of the host to other sources, so that sources of lower priority get their turn. The hub
/// yields for `iterations` iterations or `span` microseconds, whichever ends first. It yields for at least one
/// iteration. While the hub yields, it is not ready, watches nothing, and prevents the host from sleeping.
void cgrun_hub_yield(GSource *hub, unsigned iterations, gint64 span);

/// Adds the sentinels to the hub's context, or removes them (sentinels.c). Attaching sentinels is expensive, so add
/// them only while a host's waits are observed.
void cgrun_hub_set_sentinels(GSource *hub, bool wanted);
/// Records that the head of a pass has run. Until the host dispatches a foreign source, beforeWaiting may follow
/// without another head.
void cgrun_hub_note_head(GSource *hub);
/// Records that afterWaiting is sent, so that a new head must precede the next beforeWaiting.
void cgrun_hub_note_wait_ended(GSource *hub);
/// Records that the host's present poll ends, or has ended, only because its timeout or its records have changed. Such
/// a poll does not count as a sleep of the host. Call this function in prepare() or check().
void cgrun_hub_note_interrupted(GSource *hub);

/// Clears the mark that the hub's check() sets. Call this function before g_main_context_check().
void cgrun_hub_clear_canary(GSource *hub);
/// Returns whether GLib has called the hub's check() since the mark was cleared.
bool cgrun_hub_saw_check(GSource *hub);

/// Puts a descriptor into one of the hub's CGRUN_HUB_RECORDS poll records. A descriptor of -1 removes the record from
/// the context. The records are added by g_source_add_poll(), never by g_source_add_unix_fd(). For a unix-fd record
/// that is ready, GLib marks the source ready even if its check() returns false.
enum { CGRUN_HUB_RECORDS = 3 };
void cgrun_hub_set_record(GSource *hub, unsigned slot, int descriptor);
/// A bit of `found` in check(): the descriptor of one of the records is not open.
enum { CGRUN_HUB_CLOSED = 1 << CGRUN_HUB_RECORDS };
/// Makes the hub dormant permanently, and removes its records. Call this function only while the hub is being
/// dispatched.
void cgrun_hub_abandon(GSource *hub);

/// Creates a carrier: a GSource that makes a host, which iterates the hub's context, also wake for `context`. The
/// carrier dispatches the hub when `context` is ready. `canary` is a hub without a loop in `context`. Create and close
/// a carrier on the loop's thread. The host's iterations acquire `context` for this thread, unless another thread owns
/// it. The thread then owns `context` until the carrier is closed.
GSource *cgrun_carrier_new(GSource *hub, GMainContext *context, GSource *canary);
bool cgrun_carrier_owns_context(GSource *carrier);
/// Removes the carrier's poll records, as cgrun_hub_abandon() does for a hub.
void cgrun_carrier_abandon(GSource *carrier);
/// Removes the carrier from the hub's context, and releases the further context. The caller keeps its reference to the
/// carrier.
void cgrun_carrier_close(GSource *carrier);

// MARK: The poller

/// One context of a poll. `hub` is the canary in this context: it shows whether GLib has called the hub's check().
typedef struct {
    GMainContext *context;
    GSource *hub;
    bool is_ready;
    // The priority that g_main_context_prepare() returned, and the context's slice of the poller's records.
    int priority;
    unsigned first, count;
} cgrun_polled;

/// Memory and counts that one poll keeps for the next poll. All bytes must be zero before the first poll.
typedef struct {
    GPollFD *records;
    unsigned capacity;
    // The number of records in the last poll, and errno of the last poll that failed.
    unsigned used;
    int error;
    // The number of successive polls that ended only because of a closed descriptor, and the time in nanoseconds when
    // the first of these polls ended.
    unsigned fruitless;
    int64_t stuck_since;
} cgrun_poller;
void cgrun_poller_clear(cgrun_poller *poller);

/// Queries, polls and checks a prepared context without waiting. Repeats these steps if GLib skips the check because
/// another thread has changed the poll set. Returns whether the context is ready. `*timeout` receives GLib's timeout in
/// milliseconds, -1 for none. The context's records are the first records of the poller.
bool cgrun_poller_look(cgrun_poller *poller, cgrun_polled *polled, gint *timeout);

/// Waits for `count` contexts, which the caller must own, and for the CGRUN_OWN_DESCRIPTORS descriptors in `own`. An
/// element of -1 means no descriptor. `deadline` is a time of CLOCK_MONOTONIC in nanoseconds. INT64_MIN does not wait,
/// INT64_MAX waits forever. Sets `is_ready` in each element of `polled`.
///
/// Returns a bit for each descriptor of `own` that is readable, and CGRUN_POLL_FAILED if poll(2) fails in a wait. In
/// that case the poller's `error` is the errno of poll(2). Runs no user code, except a poll function that the program
/// has set.
enum { CGRUN_OWN_DESCRIPTORS = 3, CGRUN_POLL_FAILED = 1 << CGRUN_OWN_DESCRIPTORS };
unsigned cgrun_poller_poll(
    cgrun_poller *poller, cgrun_polled *polled, unsigned count, const int *own, int64_t deadline);

/// Finds a closed descriptor that makes polls return immediately. Call this function after each poll that found
/// nothing. Returns the descriptor if it has ended more than CGRUN_MOST_FRUITLESS polls in a row, during more than
/// CGRUN_LONGEST_STUCK nanoseconds. Otherwise returns -1. Because of these limits, a program may close a descriptor a
/// moment before it removes the descriptor from its context.
int cgrun_poller_stuck_descriptor(cgrun_poller *poller);
enum { CGRUN_MOST_FRUITLESS = 1000, CGRUN_LONGEST_STUCK = 1000000000 };

// MARK: libdispatch, as CFRunLoop uses it

/// Returns the main queue's eventfd; -1 if libdispatch does not offer one.
int cgrun_main_queue_handle(void);
/// Runs every block that is on the main queue now. Call this function only on the thread that the queue is bound to.
void cgrun_main_queue_drain(void);
// The main queue. The C name differs from the symbol, because Swift's module Dispatch declares the symbol with a type.
extern char cgrun_main_queue[] __asm__("_dispatch_main_q") __attribute__((weak));
/// Returns whether `queue` has the serial number 1 and the label `label` at the offsets that dispatch.c expects in the
/// main queue.
bool cgrun_has_known_words(const char *queue, const char *label);

/// The low half of the word in which libdispatch keeps the owner of the main queue.
extern const uint32_t *cgrun_main_queue_state __attribute__((visibility("hidden")));
/// Returns the id of the thread that the main queue is bound to; 0 if it is bound to no thread, or if the queue's
/// symbol is missing.
static inline uint32_t cgrun_main_queue_owner(void)
{
    // The owner is read from the queue, because libdispatch has no public query for it. A drain on any thread except
    // the owner ends the process. The two flag bits of the word are not masked here.
    return __atomic_load_n(cgrun_main_queue_state, __ATOMIC_RELAXED);
}

/// The word in which libdispatch keeps the last block of the main queue, null if the queue is empty. libdispatch's own
/// drain also tests this word. If the queue's words are not at the expected offsets, the variable points to a word that
/// is never null. Then callers ask the kernel whether a block waits.
extern void *const *cgrun_main_queue_last __attribute__((visibility("hidden")));
/// Returns true if the main queue is known to be empty.
static inline bool cgrun_main_queue_is_empty(void)
{
    return __atomic_load_n(cgrun_main_queue_last, __ATOMIC_ACQUIRE) == NULL;
}

extern uint32_t cgrun_main_thread_id __attribute__((visibility("hidden")));
/// The main thread's id, in the form that cgrun_main_queue_owner() returns.
static inline uint32_t cgrun_main_thread(void) { return cgrun_main_thread_id; }

uint32_t cgrun_main_queue_owner_at_load(void);

bool cgrun_is_on_main_queue(void);
void cgrun_call_on_main_queue(void (*call)(void *context), void *context);
/// Calls `call` after a span of real time, on a thread of libdispatch. Virtual time does not shorten the span.
void cgrun_call_later(int64_t nanoseconds, void (*call)(void *context), void *context);

// MARK: An async main

/// The state of the main thread of a program whose entry point is async.
enum {
    /// The async main has not suspended yet, or the program has no async main.
    CGRUN_ASYNC_MAIN_NONE,
    /// The driver runs on the main thread.
    CGRUN_ASYNC_MAIN_DRIVEN,
    /// The main thread was given to libdispatch permanently.
    CGRUN_ASYNC_MAIN_LEFT
};
extern int cgrun_async_main __attribute__((visibility("hidden")));
static inline int cgrun_async_main_state(void) { return __atomic_load_n(&cgrun_async_main, __ATOMIC_SEQ_CST); }
/// Registers `tell`, to be called on the main thread when that thread is given to libdispatch. Returns the present
/// state.
int cgrun_watch_async_main(void (*tell)(void));
/// Registers `drive`, to be called on the main thread when an async main first suspends. When `drive` returns, the
/// thread is given to libdispatch. Returns false if Swift's runtime has no hook that is called at that moment.
bool cgrun_set_async_main_driver(void (*drive)(void));

// MARK: Signals

/// A listener for a signal. Call both functions below with the listeners' lock held (SignalListener.swift).
typedef struct cgrun_listener cgrun_listener;

/// Adds a listener: from now on, each arrival of `signal` adds 1 to the eventfd `event`. Returns NULL and errno on
/// failure. EINVAL: no program can handle this signal. EBUSY: other code has installed a handler, and `replacing` is
/// false.
cgrun_listener *cgrun_signal_listen(int signal, int event, bool replacing);

/// Removes and frees a listener. After this call, no handler writes to the listener's eventfd. If the signal has no
/// other listener, this call also restores the former disposition, unless other code has changed the disposition
/// meanwhile. Do not call this function in a forked child.
void cgrun_signal_stop(cgrun_listener *listener);

// MARK: Children

/// Returns a close-on-exec descriptor that becomes readable when the process `pid` ends; -1 and errno on failure.
int cgrun_child_open(pid_t pid);

/// Checks without waiting whether a child has ended. `child` is a descriptor of cgrun_child_open(). Returns 1 and the
/// status as waitpid(2) does, 0 if the child has not ended, -1 and errno on failure. Reaps the child only if `reaps` is
/// true.
int cgrun_child_wait(int child, bool reaps, int *status);

/// Returns true if the kernel discards the status of children, because SIGCHLD is ignored or SA_NOCLDWAIT is set.
bool cgrun_children_are_discarded(void);

// MARK: Small things

/// Makes backtraces show the function that calls the user's closure. Call cgrun_keep_frame() right after the closure
/// returns. Otherwise the compiler turns the call of the closure into a jump, and the caller has no frame on the stack.
static inline void cgrun_keep_frame(void) { __asm__ volatile("" ::: "memory"); }

static inline void cgrun_prefetch(const void *address) { __builtin_prefetch(address); }

/// Waits for a semaphore until a time of CLOCK_MONOTONIC in nanoseconds; INT64_MAX waits forever. Returns whether the
/// semaphore was signalled. Not a cancellation point, because other threads would still use the semaphore of a
/// cancelled thread.
bool cgrun_semaphore_wait(sem_t *semaphore, int64_t until);

/// Returns a new eventfd that wakes a poll; -1 and errno on failure.
int cgrun_event_new(void);
void cgrun_event_signal(int event);

// The functions from here to cgrun_close() are called with a loop's lock held. So none of them is a cancellation point:
// if pthread_cancel() ended the thread there, the lock would stay locked.

/// Clears an eventfd. Returns false and errno if there was nothing to read. An errno other than EAGAIN means that the
/// descriptor is not an eventfd.
bool cgrun_event_clear(int event);
/// Clears an eventfd and returns its count; 0 if there was nothing to read.
uint64_t cgrun_event_take(int event);
/// epoll_wait(2) without waiting; negative and errno on failure.
int cgrun_epoll_look(int epoll, struct epoll_event *events, int capacity);
bool cgrun_is_readable(int descriptor);
void cgrun_close(int descriptor);
/// Returns whether the process could open two more descriptors now. A new GMainContext may need two descriptors.
bool cgrun_has_descriptors_left(void);

/// Returns an environment variable. Returns NULL if the variable is not set, or if the program runs with more rights
/// than its caller.
const char *cgrun_environment(const char *name);

/// Logs to GLib's log under the domain "GRunLoop". There is one function for each level, because Swift can import
/// GLib's level constants only from some versions of GLib.
void cgrun_log_critical(const char *message);
void cgrun_log_warning(const char *message);

/// Prints the message to standard error, and aborts the process. Threads: any, also with a lock held.
__attribute__((noreturn)) void cgrun_end_process(const char *message);

/// The C interface function that the calling thread executes, for log messages; NULL if the thread executes no such
/// function.
extern __thread const char *cgrun_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline const char *cgrun_get_caller(void) { return cgrun_caller; }
static inline void cgrun_set_caller(const char *function) { cgrun_caller = function; }

typedef enum { CGRUN_MODE_OTHER, CGRUN_MODE_DEFAULT, CGRUN_MODE_COMMON } cgrun_mode_kind;
cgrun_mode_kind cgrun_well_known_mode(const char *name);

/// Returns the path of the program or shared library that contains this code; "?" if the path is not known.
const char *cgrun_own_file(void);

extern bool cgrun_forked __attribute__((visibility("hidden")));
/// True in a process that was forked after cgrun_watch_fork() was called, and has not called exec().
static inline bool cgrun_has_forked(void) { return __atomic_load_n(&cgrun_forked, __ATOMIC_RELAXED); }
/// Starts to watch for fork(). Only the first call has an effect.
void cgrun_watch_fork(void);

// The calling thread's loop; NULL if the thread has no loop yet. With the TLS model initial-exec, an access needs no
// function call.
extern __thread void *cgrun_current_loop __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline void *cgrun_get_current_loop(void) { return cgrun_current_loop; }
static inline void cgrun_set_current_loop(void *loop) { cgrun_current_loop = loop; }

enum { CGRUN_THREAD_UNKNOWN, CGRUN_THREAD_MAIN, CGRUN_THREAD_OTHER };
extern __thread int cgrun_thread_kind __attribute__((tls_model("initial-exec"), visibility("hidden")));
int cgrun_find_thread_kind(void);
/// Returns whether the calling thread is the process's main thread. The kernel is asked only once for each thread,
/// because each iteration of a host calls this function up to seven times.
static inline bool cgrun_is_main_thread(void)
{
    int kind = cgrun_thread_kind;
    return (kind == CGRUN_THREAD_UNKNOWN ? cgrun_find_thread_kind() : kind) == CGRUN_THREAD_MAIN;
}

/// The kernel's id of the calling thread.
int32_t cgrun_thread_id(void);

/// Sets the calling thread's name. The system keeps its first 15 bytes.
void cgrun_set_thread_name(const char *name);
enum { CGRUN_THREAD_NAME = 16 };
/// Copies the calling thread's name to `name`, which has CGRUN_THREAD_NAME bytes. The copy is empty if the thread has
/// no name.
void cgrun_get_thread_name(char *name);

/// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t cgrun_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/// poll(2) with a timeout in nanoseconds; a negative timeout waits forever.
int cgrun_poll(GPollFD *records, unsigned count, int64_t nanoseconds);

/// Duplicates a descriptor. The duplicate is close-on-exec. Returns -1 and errno on failure.
int cgrun_duplicate(int descriptor);
/// Works like cgrun_duplicate(), but the duplicate replaces the descriptor `onto`.
int cgrun_duplicate_onto(int descriptor, int onto);

/// Returns a new timer descriptor on CLOCK_MONOTONIC; -1 and errno on failure.
int cgrun_timer_new(void);
/// Arms a timer descriptor for an absolute time in nanoseconds; a time of 0 disarms it. Discards an expiry that was not
/// read. Returns false and errno if `timer` is not a timer descriptor.
bool cgrun_timer_arm(int timer, int64_t time);

G_END_DECLS

#endif
