// SPDX-License-Identifier: Apache-2.0
// Diagnostics: the data that a loop's thread shares with its watchers, the backtrace of a stalled thread, and the plain
// notice of a stall.
#ifndef CGRUN_INSPECT_H
#define CGRUN_INSPECT_H

#include "cgrun-ring.h"

#include <cgrun-probe.h>

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

// MARK: The beat of a loop

/// The data that a loop's thread shares with the threads that watch the loop. At each callout, the loop's thread
/// increments the count in `pulse`, without a clock, a lock or an atomic read-modify-write. Watching threads write
/// `pulse.wants` and `nudges`.
typedef struct {
    /// The two words that the target GRunLoop uses. Only the diagnostics use the other members.
    cgrun_pulse pulse;
    /// 1 while a host is in poll(), or about to call poll(); 0 otherwise.
    uint32_t host_polls;
    /// Counts the requests to the watchers to check the loop immediately. A watcher sleeps until this word or
    /// `pulse.wants` changes.
    uint32_t nudges;
    uint32_t references;
    /// The kernel's id and the serial number of the loop's thread. Both are 0 until the loop's thread has stored them.
    int32_t thread;
    uint64_t serial;
    /// The ring that records a host's polls; NULL while no timeline records the loop. Only the loop's thread uses this
    /// pointer.
    cgrun_ring *ring;
} cgrun_beat;
enum {
    /// A watcher sleeps until this bit is cleared.
    CGRUN_BEAT_PARKED = 1,
    /// A watcher does not know the loop's thread yet.
    CGRUN_BEAT_UNKNOWN = 2
};
cgrun_beat *cgrun_beat_new(void);
cgrun_beat *cgrun_beat_ref(cgrun_beat *beat);
void cgrun_beat_unref(cgrun_beat *beat);

static inline bool cgrun_beat_wants(const cgrun_beat *beat, uint32_t what)
{
    return (__atomic_load_n(&beat->pulse.wants, __ATOMIC_RELAXED) & what) != 0;
}
static inline uint32_t cgrun_beat_count(const cgrun_beat *beat)
{
    return __atomic_load_n(&beat->pulse.count, __ATOMIC_RELAXED);
}
/// Answers the requests in `wants`: stores the thread's id and serial number, and wakes the parked watchers. Call this
/// function on the loop's thread.
void cgrun_beat_answer(cgrun_beat *beat);
/// These two functions add bits to `wants`, or remove them. Threads: any.
void cgrun_beat_want(cgrun_beat *beat, uint32_t what);
void cgrun_beat_forget(cgrun_beat *beat, uint32_t what);
/// Sleeps until the loop's thread has answered, or until cgrun_beat_unpark() or cgrun_beat_nudge() is called.
void cgrun_beat_park(cgrun_beat *beat);
void cgrun_beat_unpark(cgrun_beat *beat);
/// Makes all watchers check the loop immediately, because one of them must end, or because the loop has ended.
void cgrun_beat_nudge(cgrun_beat *beat);
uint32_t cgrun_beat_nudges(const cgrun_beat *beat);
/// Sleeps until a time of CLOCK_MONOTONIC in nanoseconds, or until the count of nudges differs from `nudges`.
void cgrun_beat_wait(cgrun_beat *beat, uint32_t nudges, int64_t until);
/// The serial number of the calling thread, which no other thread of the process ever has. A thread's id or pthread_t
/// would not identify the thread, because after the thread's end another thread may get the same id or pthread_t.
uint64_t cgrun_thread_serial(void);
/// The calling thread's serial number; 0 if cgrun_thread_serial() was not called on this thread yet. A signal handler
/// may call this function.
uint64_t cgrun_thread_known_serial(void);
/// The value of g_main_depth() on the calling thread; 0 if that call would allocate memory, for example while the
/// thread ends. The result is also 0 until cgrun_beat_answer() has answered CGRUN_BEAT_UNKNOWN on the thread. A signal
/// handler may call this function.
int cgrun_thread_depth(void);
/// The kernel's id of the loop's thread; 0 if the loop's thread has not stored it yet.
int32_t cgrun_beat_thread(const cgrun_beat *beat);
bool cgrun_beat_host_polls(const cgrun_beat *beat);

/// Records that a host is about to poll. Call this function on the loop's thread, while a host's iteration prepares its
/// sources.
void cgrun_beat_note_poll(cgrun_beat *beat);
/// Adds a GSource to a host's context to record the host's polls. This GSource is never ready. Its priority is the
/// highest, so GLib prepares and checks it first. Its check function adds 1 to the count in `pulse`, because a poll has
/// ended.
GSource *cgrun_beat_source_new(cgrun_beat *beat, GMainContext *context);
void cgrun_beat_source_close(GSource *source);

// MARK: Where a thread stands

enum { CGRUN_MOST_FRAMES = 96, CGRUN_SOURCE_NAME = 128 };
typedef struct {
    /// The addresses on the stack, the innermost first.
    uintptr_t frames[CGRUN_MOST_FRAMES];
    unsigned frame_count;
    /// `count` is the count in the loop's beat, and `depth` is the number of GLib dispatches on the thread's stack.
    uint32_t count;
    int depth;
    /// The context and the name of the GSource that GLib is dispatching. If dispatches are nested, this is the
    /// innermost GSource. A long name is truncated. The name is empty if the GSource has no name, or if GLib dispatches
    /// no GSource.
    GMainContext *context;
    char source[CGRUN_SOURCE_NAME];
} cgrun_sample;
/// Installs a handler for `signal` that takes a backtrace of the interrupted thread. Returns 0, EBUSY if other code has
/// a handler for the signal, or EINVAL if the signal cannot have a handler.
int cgrun_sample_prepare(int signal);
/// Call this function once for each cgrun_sample_prepare() that has returned 0. The last of these calls restores the
/// signal's former disposition, unless other code has changed the disposition. If the signal is not SIGURG and a
/// request was not answered, our handler also stays.
void cgrun_sample_finish(int signal);
/// Takes a backtrace of the loop's thread, and waits at most `span` nanoseconds for that thread's answer. Returns false
/// if the thread does not answer because it has blocked the signal, is in the kernel, or has ended. If two threads call
/// this function at the same time, one call waits for the other.
bool cgrun_sample_take(const cgrun_beat *beat, int signal, int64_t span, cgrun_sample *sample);

// MARK: Names

// With glibc 2.35 or later, the two functions below do not take the dynamic linker's lock. A thread that stalls inside
// dlopen() holds this lock.

/// Returns the names of the function at an address and of the function's file, without folders. A Swift name is
/// demangled if the process contains Swift's runtime. A name that is not known is NULL. The caller frees both names.
void cgrun_symbol(uintptr_t address, char **function, char **file);
/// Returns the name of the file that is loaded at an address, without folders, and the address in the file. Returns
/// false if no file is loaded at the address. With a glibc older than 2.35, always returns false. Allocates no memory
/// and takes no lock.
bool cgrun_loaded_file(uintptr_t address, const char **name, uintptr_t *offset);

// MARK: The plain notice of a stall

/// A text that a separate thread writes to standard error at a given time, unless the notice is cancelled before this
/// time.
typedef struct cgrun_notice cgrun_notice;
/// Creates an empty notice. Returns 0, or the error of pthread_create().
int cgrun_notice_new(cgrun_notice **notice);
void cgrun_notice_free(cgrun_notice *notice);

// The functions below allocate no memory, and take no lock that another thread holds while it allocates memory.

/// Schedules the notice for a time of CLOCK_MONOTONIC.
void cgrun_notice_schedule(cgrun_notice *notice, int64_t due);
/// Cancels the notice, unless the writing thread has begun to write it.
void cgrun_notice_cancel(cgrun_notice *notice);
// Call the functions below only while the notice is not scheduled. Text that does not fit into the notice is omitted.
void cgrun_notice_clear(cgrun_notice *notice);
/// Adds text to the notice. A byte that is not printable ASCII becomes a question mark.
void cgrun_notice_put(cgrun_notice *notice, const void *bytes, size_t size);
void cgrun_notice_put_number(cgrun_notice *notice, uint64_t number, unsigned base);
void cgrun_notice_end_line(cgrun_notice *notice);
/// Adds a line for each function on the stack of `sample`: its address, its file, and the address in the file.
void cgrun_notice_put_frames(cgrun_notice *notice, const cgrun_sample *sample);

// MARK: GRUN_CHECK

/// Adds an observer and a timer to Foundation's main run loop. Returns false, and does nothing, if Foundation is not
/// loaded. Call this function once in a process.
bool cgrun_foundation_begin_check(void);
/// Whether a run of Foundation's main run loop is on the stack; false before the check has begun. Call this function on
/// the main thread.
bool cgrun_foundation_is_running(void);
/// Adds another timer, which fires once. Call this function only if Foundation is loaded.
void cgrun_foundation_add_timer(void);
/// How many of these timers have fired.
uint32_t cgrun_foundation_fires(void);

/// Writes the report to standard error.
void cgrun_print_report(const char *text);
/// The processor time that the main thread has used, in nanoseconds.
int64_t cgrun_processor_time_of_main_thread(void);
/// The file that contains libdispatch: a shared library, or the program.
const char *cgrun_file_of_libdispatch(void);
/// The version of the loaded GLib. Threads: one at a time.
const char *cgrun_glib_version(void);

G_END_DECLS

#endif
