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

/// The data that a loop's thread shares with the threads that watch the loop. The loop's thread writes it at each
/// callout, without a clock, a lock or an atomic instruction. Other threads write `wants` and `nudges`.
typedef struct {
    /// The two words that the loop itself uses. It does not know the other members.
    cgrun_pulse pulse;
    /// 1 while a host is in poll(), or about to call it.
    uint32_t host_polls;
    /// Counts the requests to the watchers to check the loop immediately. Watchers sleep on this word, or on `wants`.
    uint32_t nudges;
    uint32_t references;
    /// The kernel's id and the serial number of the loop's thread; 0 until they are known.
    int32_t thread;
    uint64_t serial;
    /// The ring that records a host's polls; NULL while nothing is recorded. Only the loop's thread uses it.
    cgrun_ring *ring;
} cgrun_beat;
enum {
    /// A watcher sleeps until the loop's thread answers.
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
/// Does what `wants` asks for: stores the thread's id and serial number, and wakes the parked watchers. Call it on the
/// loop's thread.
void cgrun_beat_answer(cgrun_beat *beat);
/// Adds bits to `wants`, or removes them. Any thread.
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
/// The serial number of the calling thread, which no other thread of the process ever has. A thread's id and its
/// pthread_t are not enough, because after the thread's end another thread may get them.
uint64_t cgrun_thread_serial(void);
/// The calling thread's serial number; 0 if cgrun_thread_serial() was not called on this thread yet. A signal handler
/// may call this.
uint64_t cgrun_thread_known_serial(void);
/// The value of g_main_depth() on the calling thread; 0 if that call would allocate memory, for example while the
/// thread ends. A signal handler may call this, once cgrun_beat_answer() has answered CGRUN_BEAT_UNKNOWN on the thread.
int cgrun_thread_depth(void);
/// The kernel's id of the loop's thread; 0 if it is not known yet.
int32_t cgrun_beat_thread(const cgrun_beat *beat);
bool cgrun_beat_host_polls(const cgrun_beat *beat);

/// Notes that a host polls next. Call it on the loop's thread, while a host's iteration prepares its sources.
void cgrun_beat_note_poll(cgrun_beat *beat);
/// Adds a source to a host's context to note the host's polls. The source is never ready. GLib prepares and checks it
/// before all other sources. Its check adds 1 to the count of the beat, because a poll has ended.
GSource *cgrun_beat_source_new(cgrun_beat *beat, GMainContext *context);
void cgrun_beat_source_close(GSource *source);

// MARK: Where a thread stands

enum { CGRUN_MOST_FRAMES = 96, CGRUN_SOURCE_NAME = 128 };
typedef struct {
    /// The addresses on the stack, the innermost first.
    uintptr_t frames[CGRUN_MOST_FRAMES];
    unsigned frame_count;
    /// The count of the loop's beat, and the number of GLib dispatches on the thread's stack.
    uint32_t count;
    int depth;
    /// The context and the name of the GSource that GLib is dispatching; the innermost one if dispatches are nested. A
    /// long name is cut. It is empty if the source has no name.
    GMainContext *context;
    char source[CGRUN_SOURCE_NAME];
} cgrun_sample;
/// Installs the handler by which threads answer to `signal`. Returns 0, EBUSY if other code has a handler for the
/// signal, or EINVAL if the signal cannot have a handler.
int cgrun_sample_prepare(int signal);
/// Call it once for each cgrun_sample_prepare() that has returned 0. The last call restores the signal's former
/// disposition, unless other code has changed it or a request was not answered.
void cgrun_sample_finish(int signal);
/// Takes a backtrace of the loop's thread, and waits for it for at most `span` nanoseconds. Returns false if the thread
/// does not answer because it has blocked the signal, is in the kernel, or has ended. Concurrent calls wait for each
/// other.
bool cgrun_sample_take(const cgrun_beat *beat, int signal, int64_t span, cgrun_sample *sample);

// MARK: Names

// With glibc 2.35 or later, neither function takes the dynamic linker's lock, because a thread that stalls inside
// dlopen() holds this lock.

/// The names of the function at an address and of its file, without folders. A Swift name is demangled if the process
/// contains Swift's runtime. A name that is not known is NULL. The caller frees both.
void cgrun_symbol(uintptr_t address, char **function, char **file);
/// The name of the file that is loaded at an address, without folders, and the address in the file. Returns false if no
/// file is loaded there, and always with a glibc older than 2.35. Allocates no memory and takes no lock.
bool cgrun_loaded_file(uintptr_t address, const char **name, uintptr_t *offset);

// MARK: The plain notice of a stall

/// A text that a separate thread writes to standard error at a given time, unless it is cancelled before.
typedef struct cgrun_notice cgrun_notice;
/// Creates an empty notice. Returns 0, or the error of pthread_create().
int cgrun_notice_new(cgrun_notice **notice);
void cgrun_notice_free(cgrun_notice *notice);

// The functions below allocate no memory, and take no lock that another thread holds while it allocates memory.

/// Schedules the notice for a time of CLOCK_MONOTONIC.
void cgrun_notice_schedule(cgrun_notice *notice, int64_t due);
/// Cancels the notice, unless the writing thread has begun to write it.
void cgrun_notice_cancel(cgrun_notice *notice);
// Call these functions only while the notice is not scheduled. Text that does not fit is left out.
void cgrun_notice_clear(cgrun_notice *notice);
/// Adds text to the notice. A byte that is not printable ASCII becomes a question mark.
void cgrun_notice_put(cgrun_notice *notice, const void *bytes, size_t size);
void cgrun_notice_put_number(cgrun_notice *notice, uint64_t number, unsigned base);
void cgrun_notice_end_line(cgrun_notice *notice);
/// Adds a line for each function on the sampled stack: its address, its file, and the address in the file.
void cgrun_notice_put_frames(cgrun_notice *notice, const cgrun_sample *sample);

G_END_DECLS

#endif
