// SPDX-License-Identifier: Apache-2.0
// What the Swift side needs from C: the hub's GSource, libdispatch's entry points for a foreign run loop, and system
// calls that Swift does not import.
#ifndef CGRUN_H
#define CGRUN_H

#include "cgrun-inspect.h"
#include "cgrun-perturb.h"

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

// Taken by one atomic instruction and, without contention, released by a plain store: a thread that is about to sleep
// for the lock first executes a barrier in every thread of the process (lock.c). Under the Thread Sanitizer it is a
// mutex, which the sanitizer understands.
typedef struct {
    uint32_t word;
    /// How many wake-ups are owed: at least one for each sleeping thread.
    uint32_t owed;
    /// Counts the wake-ups. Threads sleep on this word.
    uint32_t turn;
    /// Used under the Thread Sanitizer only. Then the word is never free.
    pthread_mutex_t *mutex;
    /// Whose lock it is: nothing here looks into it.
    void *owner;
} cgrun_lock;
/// What Swift has of it (Support/Lock.swift): `Lock`, with the functions that name it as its methods.
typedef cgrun_lock *cgrun_lock_ref __attribute__((swift_newtype(struct), swift_name("Lock")));
enum { CGRUN_LOCK_FREE, CGRUN_LOCK_TAKEN };
/// True if releasing a lock needs a full fence: membarrier(2) is missing, or this is a build for the Thread Sanitizer.
/// Changes at most once, to true: so a plain read is enough.
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
    // The processor may load `owed` before the store is visible, the compiler may not.
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(__atomic_load_n(&lock->owed, __ATOMIC_RELAXED) != 0, false))
        cgrun_lock_wake(lock);
}

/// Takes the lock within `span` nanoseconds, or returns false.
__attribute__((swift_name("Lock.lock(self:within:)"))) bool cgrun_lock_take_within(cgrun_lock_ref lock, int64_t span);

/// Waits a moment for a bit that another thread holds for a few instructions. `*looks` counts the calls: after many,
/// that thread was preempted, and this one sleeps.
void cgrun_lock_relax(int *looks);

// MARK: The hub

/// What the hub asks of its run loop, on the loop's own thread only and never under a GLib lock.
typedef struct {
    /// Is there work to do now? Called in prepare(); must run no user code. `is_stale`: since the last head of a pass
    /// something foreign was dispatched. `*watched` gets a bit for each poll record that this poll is to watch.
    bool (*prepare)(void *loop, bool is_stale, unsigned *watched);
    /// Is there work to do now, `found` being the records that the poll has found ready? Called in check(); must run no
    /// user code. `has_slept`: there are sentinels, and this poll has taken time.
    bool (*check)(void *loop, bool has_slept, unsigned found);
    /// Runs passes. User code is called from here and from `idle` only.
    void (*dispatch)(void *loop);
    /// Called with sentinels only: whether beforeWaiting was sent, afterWaiting was not, and nothing is left to do
    /// before the host sleeps. Must run no user code.
    bool (*may_sleep)(void *loop);
    /// Called with sentinels only: nothing else is ready in the context, and the loop is not waiting. `is_stale`: as in
    /// `prepare`.
    void (*idle)(void *loop, bool is_stale);
    /// Gives up the hub's reference to the loop, when GLib has let go of the hub. Runs no user code.
    void (*release)(void *loop);
} cgrun_hub_funcs;

/// The one GSource of a run loop on its context: priority 0, can recurse, named "GRunLoop". It takes over a reference
/// to the loop, which stays alive while a thread is inside one of these functions. Without a loop it is only a canary.
/// The loop's thread is the process's main thread or the calling one.
GSource *cgrun_hub_new(const cgrun_hub_funcs *funcs, void *loop, bool is_main);

/// Takes the hub out of its context, for good. The second time it does nothing. Any thread, also while that thread
/// ends.
void cgrun_hub_close(GSource *hub);

/// While dormant the hub and its sentinels never become ready and keep no state: our own driver iterates the context
/// itself.
void cgrun_hub_set_dormant(GSource *hub, bool dormant);

/// Yields for `iterations` iterations of the host, or fewer once they have taken `span` microseconds, but at least one.
/// Meanwhile the hub is not ready, watches nothing and prevents sleep, so that sources of any lower priority get their
/// turn.
void cgrun_hub_yield(GSource *hub, unsigned iterations, gint64 span);

/// Puts the sentinels into the hub's context, or takes them out. Attaching has a cost: use them only while waits are
/// observed.
void cgrun_hub_set_sentinels(GSource *hub, bool wanted);
/// A head of a pass was run: beforeWaiting may follow, until something foreign is dispatched.
void cgrun_hub_note_head(GSource *hub);
/// afterWaiting was sent: another head comes before the next beforeWaiting.
void cgrun_hub_note_wait_ended(GSource *hub);
/// In prepare() or check(): the poll ends, or has ended, only because its timeout or its records have changed. That is
/// no wake-up.
void cgrun_hub_note_interrupted(GSource *hub);

/// The canary: clears the mark before a check(), and tells afterwards whether GLib really called the hub's check().
void cgrun_hub_clear_canary(GSource *hub);
bool cgrun_hub_saw_check(GSource *hub);

/// Puts a descriptor into one of the hub's poll records, of which there are CGRUN_HUB_RECORDS; -1 takes the record out
/// of the context. The records are added by g_source_add_poll(), never by g_source_add_unix_fd(): GLib marks a source
/// ready from a unix-fd record even when its check() says no.
enum { CGRUN_HUB_RECORDS = 3 };
void cgrun_hub_set_record(GSource *hub, unsigned slot, int descriptor);
/// A bit of `found` in check(): a record's descriptor is not open.
enum { CGRUN_HUB_CLOSED = 1 << CGRUN_HUB_RECORDS };
/// In a dispatch: the hub is dormant for good, and has no records any more.
void cgrun_hub_abandon(GSource *hub);

/// Makes the host, which iterates the hub's context, sleep for a further context as well, and dispatches the hub when
/// that is ready. `canary` is a hub without a loop in that context. Called and closed on the loop's thread, which owns
/// the context meanwhile unless another thread does.
GSource *cgrun_carrier_new(GSource *hub, GMainContext *context, GSource *canary);
bool cgrun_carrier_owns_context(GSource *carrier);
/// Forgets its records, as an abandoned hub does.
void cgrun_carrier_abandon(GSource *carrier);
/// Takes the carrier out of the hub's context, and releases its own context. The caller still has its reference.
void cgrun_carrier_close(GSource *carrier);

// MARK: The poller

/// A context in a poll. The hub is the loop's own one in it, the canary.
typedef struct {
    GMainContext *context;
    GSource *hub;
    bool is_ready;
    // Its slice of the records, and the priority that it was prepared with.
    int priority;
    unsigned first, count;
} cgrun_polled;

/// Memory that one poll leaves to the next. Zeroed at first.
typedef struct {
    GPollFD *records;
    unsigned capacity;
    // How many records the last poll had, and errno of the last one that failed.
    unsigned used;
    int error;
    // Polls that ended only because of a closed descriptor: how many in a row, and since when.
    unsigned fruitless;
    int64_t stuck_since;
} cgrun_poller;
void cgrun_poller_clear(cgrun_poller *poller);

/// Looks, without waiting, at a context that is prepared: again if GLib leaves the check out, because another thread
/// has changed the poll set. Returns whether it is ready; its records are the first of the poller's.
bool cgrun_poller_look(cgrun_poller *poller, cgrun_polled *polled, gint *timeout);

/// Waits for the contexts, of which the caller is the owner, and for descriptors of the loop's own, -1 for none.
/// `deadline`, in nanoseconds: INT64_MIN only looks, INT64_MAX waits for ever. Returns a bit for each own descriptor
/// that is readable; which contexts are ready stands in `polled`. Runs no user code.
///
/// CGRUN_POLL_FAILED: the kernel refuses to wait, and says why in the poller's `error`.
enum { CGRUN_OWN_DESCRIPTORS = 3, CGRUN_POLL_FAILED = 1 << CGRUN_OWN_DESCRIPTORS };
unsigned cgrun_poller_poll(
    cgrun_poller *poller, cgrun_polled *polled, unsigned count, const int *own, int64_t deadline);

/// Call it after a poll that ended without a result. Returns a descriptor that is not open, if it has ended each poll
/// for a while, else -1. Closing a descriptor a moment before it is taken out of its context does no harm.
int cgrun_poller_stuck_descriptor(cgrun_poller *poller);
enum { CGRUN_MOST_FRUITLESS = 1000, CGRUN_LONGEST_STUCK = 1000000000 };

// MARK: libdispatch, as CFRunLoop uses it

/// The main queue's eventfd, or -1 where libdispatch does not offer it.
int cgrun_main_queue_handle(void);
/// Runs every block that is on the main queue now. Call it on the thread that the queue is bound to, and only there.
void cgrun_main_queue_drain(void);
// By another name: Swift's module Dispatch declares it with a type.
extern char cgrun_main_queue[] __asm__("_dispatch_main_q") __attribute__((weak));
/// Where the words of it stand that we read: dq_items_tail, dq_state, dq_serialnum, dq_label.
enum { CGRUN_QUEUE_LAST = 48, CGRUN_QUEUE_STATE = 56, CGRUN_QUEUE_NUMBER = 64, CGRUN_QUEUE_LABEL = 72 };
/// The thread id that libdispatch has bound the main queue to; 0 where it is bound to none or cannot be told.
static inline uint32_t cgrun_main_queue_owner(void)
{
    // The low 32 bits hold the owner's thread id without the two lowest flag bits of the lock word. There is no public
    // query, and a drain on any other thread ends the process.
    uint32_t word = 0;
    if (cgrun_main_queue != NULL)
        memcpy(&word, cgrun_main_queue + CGRUN_QUEUE_STATE, sizeof word);
    return word;
}

/// Where libdispatch keeps the last block of the main queue: null without one, which is what its own drain asks. A word
/// that is never null where the queue looks otherwise than we know it: then the kernel is asked.
extern void *const *cgrun_main_queue_last __attribute__((visibility("hidden")));
/// Whether the main queue has nothing to run.
static inline bool cgrun_main_queue_is_empty(void)
{
    return __atomic_load_n(cgrun_main_queue_last, __ATOMIC_ACQUIRE) == NULL;
}

extern uint32_t cgrun_main_thread_id __attribute__((visibility("hidden")));
/// The main thread, as libdispatch notes it.
static inline uint32_t cgrun_main_thread(void) { return cgrun_main_thread_id; }

/// The same when this library was loaded.
uint32_t cgrun_main_queue_owner_at_load(void);

/// Whether libdispatch says that the caller is on the main queue.
bool cgrun_is_on_main_queue(void);
void cgrun_call_on_main_queue(void (*call)(void *context), void *context);
/// After a time of the real clock, on a thread of libdispatch's.
void cgrun_call_later(int64_t nanoseconds, void (*call)(void *context), void *context);

// MARK: An async main

/// The state of the main thread of a program whose entry point is async.
enum {
    /// It has not suspended yet, or there is no async main.
    CGRUN_ASYNC_MAIN_NONE,
    /// The driver has the thread.
    CGRUN_ASYNC_MAIN_DRIVEN,
    /// It was given to libdispatch, for good.
    CGRUN_ASYNC_MAIN_LEFT
};
extern int cgrun_async_main __attribute__((visibility("hidden")));
static inline int cgrun_async_main_state(void) { return __atomic_load_n(&cgrun_async_main, __ATOMIC_SEQ_CST); }
/// Calls `tell` on the main thread when that is given to libdispatch. Returns the state now.
int cgrun_watch_async_main(void (*tell)(void));
/// Calls `drive` on the main thread when an async main first suspends. If it returns, the thread is given to
/// libdispatch. False if the runtime has no such hook.
bool cgrun_set_async_main_driver(void (*drive)(void));

// MARK: Signals

/// Whoever listens to a signal. With the lock of the listeners held: both functions.
typedef struct cgrun_listener cgrun_listener;

/// Each signal of that number adds 1 to the eventfd from now on. NULL and errno on failure: EINVAL where no program can
/// have a handler of it, EBUSY where somebody else has one, unless that is to be replaced.
cgrun_listener *cgrun_signal_listen(int signal, int event, bool replacing);

/// Nobody writes to its eventfd any more. With the last one of a signal the disposition is again what it was, unless
/// somebody has changed it meanwhile. Not in a forked child.
void cgrun_signal_stop(cgrun_listener *listener);

// MARK: Children

/// A descriptor, close-on-exec, that is readable when the process has ended; -1 and errno on failure.
int cgrun_child_open(pid_t pid);

/// Looks, without waiting, how a child has ended: 1 and its status as waitpid(2) gives it, 0 if it has not, -1 and
/// errno on failure. It is reaped only if that is asked for.
int cgrun_child_wait(int child, bool reaps, int *status);

/// Whether the kernel forgets how children end, since SIGCHLD is ignored or SA_NOCLDWAIT is set.
bool cgrun_children_are_discarded(void);

// MARK: Message ports

// Sockets, locks and directories of message ports are closed in a forked child at once. By its copies a name would stay
// taken, and peers would wait for whoever is gone.

/// Closes what one of the functions below has returned.
void cgrun_kept_close(int descriptor);

/// The folder of this process's descriptors. /proc/self is the main thread, which may have ended.
#define CGRUN_DESCRIPTOR_FILES "/proc/thread-self/fd"

/// The name of a port's file in the directory; with ".lock" behind it, that of its lock.
enum { CGRUN_PORT_FILE = 33 };
void cgrun_port_file(const char *name, char *file);
/// Opens the directory of the names by O_PATH; it may be unsafe. A forked child keeps it. This function and the next
/// ones return -1 and errno on failure.
int cgrun_port_directory_open(int outer, const char *name, bool makes);
/// Whether this user may use a directory, and nobody else.
bool cgrun_port_directory_is_safe(int directory);
/// A descriptor of its own for the same directory.
int cgrun_port_directory(int directory);
/// Takes the lock of a file. EWOULDBLOCK: another port has it.
int cgrun_port_lock(int directory, const char *file);
/// Listens as that file, in the place of what is there. With its lock taken only.
int cgrun_port_listen(int directory, const char *file);
/// Removes the socket, if the lock is still that of the file.
void cgrun_port_hide(int directory, const char *file, int lock);
/// Removes the socket and the lock's file, and releases and closes the lock.
void cgrun_port_unlock(int directory, const char *file, int lock);
/// Whether the kernel tells users apart for this process: 1 or 0; -1 and errno if a shortage prevents the answer.
int cgrun_are_users_known(void);
/// The next peer. EAGAIN: there is none; ECONNABORTED: the peer has gone, or is another user's and was refused.
int cgrun_port_accept(int listener);
/// A socket that is not connected.
int cgrun_port_socket(void);
/// Connects it. ENOENT, ECONNREFUSED: nobody is there; EAGAIN: too many wait to be let in; EPERM: it is another user's.
bool cgrun_port_connect(int socket, int directory, const char *file);

/// What each packet begins with. Both ends are on one machine: native order.
typedef struct {
    uint32_t magic;
    uint8_t version, kind;
    uint16_t flags;
    int32_t id;
    uint32_t conversation;
    uint64_t length;
} cgrun_packet;
/// "GRUN", how a packet is made, and the bit of one whose bytes are in memory, the first of its descriptors.
enum { CGRUN_PACKET_MAGIC = 0x4E555247, CGRUN_PACKET_VERSION = 1, CGRUN_PACKET_IN_MEMORY = 1 };
/// Most bytes in a packet, without its header, and most descriptors.
enum { CGRUN_PACKET_INLINE = 1 << 16, CGRUN_PACKET_DESCRIPTORS = 17 };

// Called with a lock held: none of these is a point at which pthread_cancel() ends a thread.

/// Sends a packet with copies of the descriptors, without waiting. Returns 0 or errno. EAGAIN: the kernel's queue is
/// full.
int cgrun_packet_send(
    int socket, const cgrun_packet *packet, const void *bytes, size_t size, const int *descriptors, unsigned count);
/// Receives one without waiting, and at most CGRUN_PACKET_DESCRIPTORS. 0 is the end; -1 and errno on failure, of which
/// EBADMSG is a packet that is too large, and EMFILE one for whose descriptors there is no number left.
ssize_t cgrun_packet_receive(int socket, void *bytes, size_t size, int *descriptors, unsigned *count);
/// Ends the connection and removes every packet that was not received. To be called before cgrun_kept_close(): a peer
/// chooses how long the close of a descriptor in a packet takes, and fork() waits for cgrun_kept_close().
void cgrun_packet_drain(int socket);
/// Whether the other end is there. What it has sent may be received also if it is not.
bool cgrun_packet_is_connected(int socket);
/// Whether the other end has taken all that was sent to it.
bool cgrun_packet_all_taken(int socket);
/// The process that has connected, or was connected to; 0 if it is in another namespace of processes.
int cgrun_packet_peer(int socket);
/// No more packets, in either direction: also for those who wait for some in a poll.
void cgrun_packet_shut(int socket);
/// Without a lock: waits until a packet may find room, until the eventfd is signalled, and at most for that time. Of
/// either there may be none: -1.
void cgrun_packet_wait(int socket, int event, int64_t nanoseconds);

/// Memory with these bytes, which nobody can change any more. -1 and errno on failure.
int cgrun_memory_new(const void *bytes, size_t size);
/// Maps the memory of a received message in constant time, because no page is touched. NULL and errno on failure.
/// EBADMSG: the sender could still change the memory.
const void *cgrun_memory_map(int memory, uint64_t size);
/// Call it before the first read of mapped memory. If a page was never written, the mapping becomes zeros: otherwise
/// the first read would allocate that page for this process. The time grows with the size.
void cgrun_memory_clear_if_sparse(int memory, const void *bytes, uint64_t size);
void cgrun_memory_unmap(const void *bytes, uint64_t size);

// MARK: Small things

/// Keeps a callout's frame on the stack: without it the call of the user's closure becomes a jump.
static inline void cgrun_keep_frame(void) { __asm__ volatile("" ::: "memory"); }

/// Fetches a line of memory into the cache in the background.
static inline void cgrun_prefetch(const void *address) { __builtin_prefetch(address); }

/// Waits until a time of CLOCK_MONOTONIC, or for ever. Returns whether the semaphore was signalled. No point at which
/// pthread_cancel() ends a thread: others know what it waits with.
bool cgrun_semaphore_wait(sem_t *semaphore, int64_t until);

/// An eventfd that wakes a poll; -1 and errno on failure.
int cgrun_event_new(void);
void cgrun_event_signal(int event);

// Called with the loop's lock held: none of them is a point at which pthread_cancel() ends a thread.

/// Reads an eventfd; false if there was nothing to read. Then any errno but EAGAIN means that the descriptor is no
/// eventfd.
bool cgrun_event_clear(int event);
/// Reads an eventfd; 0 if there was nothing to read.
uint64_t cgrun_event_take(int event);
/// epoll_wait(2) without waiting; negative and errno on failure.
int cgrun_epoll_look(int epoll, struct epoll_event *events, int capacity);
/// Whether a descriptor is readable now.
bool cgrun_is_readable(int descriptor);
void cgrun_close(int descriptor);
/// Whether the process could open two more descriptors now, as a new GMainContext may.
bool cgrun_has_descriptors_left(void);

/// A variable of the environment; NULL if there is none, and for a program that runs with more rights than its caller.
const char *cgrun_environment(const char *name);

/// Log to GLib's log under the domain "GRunLoop". One for each level: Swift finds its name in some versions of GLib
/// only.
void cgrun_log_critical(const char *message);
void cgrun_log_warning(const char *message);

/// Prints the message to standard error, and aborts the process. Any thread, also with a lock held.
__attribute__((noreturn)) void cgrun_end_process(const char *message);

/// The function of the C interface that the calling thread is in, for messages; NULL for none. Every call of C's sets
/// it twice.
extern __thread const char *cgrun_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline const char *cgrun_get_caller(void) { return cgrun_caller; }
static inline void cgrun_set_caller(const char *function) { cgrun_caller = function; }

/// Whether a name is that of the default mode or of the common ones.
typedef enum { CGRUN_MODE_OTHER, CGRUN_MODE_DEFAULT, CGRUN_MODE_COMMON } cgrun_mode_kind;
cgrun_mode_kind cgrun_well_known_mode(const char *name);

/// The file that this code is in: the program or a shared library.
const char *cgrun_own_file(void);

extern bool cgrun_forked __attribute__((visibility("hidden")));
/// True in a child process that was forked without exec after the library was first used.
static inline bool cgrun_has_forked(void) { return __atomic_load_n(&cgrun_forked, __ATOMIC_RELAXED); }
/// Starts watching for fork().
void cgrun_watch_fork(void);

// Tells which loop is calling: thread-local storage that is accessed without a function call.
extern __thread void *cgrun_current_loop __attribute__((tls_model("initial-exec"), visibility("hidden")));
/// The calling thread's loop, NULL if it has none yet.
static inline void *cgrun_get_current_loop(void) { return cgrun_current_loop; }
static inline void cgrun_set_current_loop(void *loop) { cgrun_current_loop = loop; }

enum { CGRUN_THREAD_UNKNOWN, CGRUN_THREAD_MAIN, CGRUN_THREAD_OTHER };
extern __thread int cgrun_thread_kind __attribute__((tls_model("initial-exec"), visibility("hidden")));
int cgrun_find_thread_kind(void);
/// Whether the calling thread is the process's main thread. Asked of the kernel once a thread; each iteration of a host
/// asks up to seven times.
static inline bool cgrun_is_main_thread(void)
{
    int kind = cgrun_thread_kind;
    return (kind == CGRUN_THREAD_UNKNOWN ? cgrun_find_thread_kind() : kind) == CGRUN_THREAD_MAIN;
}

/// Sets and copies the calling thread's name, of which the system keeps 15 bytes; empty if it has none.
void cgrun_set_thread_name(const char *name);
enum { CGRUN_THREAD_NAME = 16 };
void cgrun_get_thread_name(char *name);

/// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t cgrun_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/// poll(2) with a timeout in nanoseconds; negative waits for ever.
int cgrun_poll(GPollFD *records, unsigned count, int64_t nanoseconds);

/// A descriptor of its own for the same open file, close-on-exec; -1 and errno on failure.
int cgrun_duplicate(int descriptor);
/// The same, in the place of `onto`.
int cgrun_duplicate_onto(int descriptor, int onto);

/// A timer descriptor on CLOCK_MONOTONIC; -1 and errno on failure.
int cgrun_timer_new(void);
/// Arms it for an absolute time in nanoseconds; 0 disarms it. An expiry that was not read is forgotten. False and errno
/// where it is no timer descriptor.
bool cgrun_timer_arm(int timer, int64_t time);

G_END_DECLS

#endif
