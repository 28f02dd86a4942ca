// SPDX-License-Identifier: Apache-2.0
// What a loop's thread tells those who watch it, and where a thread stands that does not come back.
#ifndef CGRUN_INSPECT_H
#define CGRUN_INSPECT_H

#include "cgrun-ring.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

// MARK: Whether somebody looks at all

/// How many loops of the process are traced or recorded: asked at each stage.
extern int cgrun_traced_loops __attribute__((visibility("hidden")));
/// How many are traced, recorded or watched: asked at each callout.
extern int cgrun_inspected_loops __attribute__((visibility("hidden")));
void cgrun_count_tracing(int change);
void cgrun_count_inspecting(int change);
// Plain reads, which become one comparison with memory; atomic ones become a load and a test. A loop is traced by its
// own thread, which reads what it wrote itself; one that another thread begins to watch is watched from some later
// callout on.
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_tracing(void) { return cgrun_traced_loops != 0; }
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_inspecting(void)
{
    return cgrun_inspected_loops != 0;
}

// MARK: The beat of a loop

/// Written by the loop's thread at each callout, without a clock, a lock or an atomic instruction. `wants` is written
/// by others.
typedef struct {
    /// What is wanted of the next callout: bits of CGRUN_BEAT_….
    uint32_t wants;
    /// Counts callouts as they begin and, while it is watched, what a host's poll has found.
    uint32_t count;
    /// A host is in poll(), or about to be.
    uint32_t host_polls;
    /// Counts what the watchers are to look at before their time. They sleep on this word, or on `wants`.
    uint32_t nudges;
    uint32_t references;
    /// The loop's thread as the kernel knows it, and its serial number; 0 until it is known.
    int32_t thread;
    uint64_t serial;
    /// What a host's polls are recorded in; NULL while none is. The loop's thread alone has it.
    cgrun_ring *ring;
} cgrun_beat;
enum {
    /// A watcher sleeps until then.
    CGRUN_BEAT_PARKED = 1,
    /// A watcher does not know the thread yet.
    CGRUN_BEAT_UNKNOWN = 2
};
cgrun_beat *cgrun_beat_new(void);
cgrun_beat *cgrun_beat_ref(cgrun_beat *beat);
void cgrun_beat_unref(cgrun_beat *beat);

/// A callout begins. Returns what is wanted of it.
__attribute__((always_inline)) static inline uint32_t cgrun_beat_begin(cgrun_beat *beat)
{
    __atomic_store_n(&beat->count, __atomic_load_n(&beat->count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&beat->wants, __ATOMIC_RELAXED);
}
static inline bool cgrun_beat_wants(const cgrun_beat *beat, uint32_t what)
{
    return (__atomic_load_n(&beat->wants, __ATOMIC_RELAXED) & what) != 0;
}
static inline uint32_t cgrun_beat_count(const cgrun_beat *beat)
{
    return __atomic_load_n(&beat->count, __ATOMIC_RELAXED);
}
/// On the loop's thread: says who it is, and wakes the watchers that are parked.
void cgrun_beat_answer(cgrun_beat *beat);
/// Any thread.
void cgrun_beat_want(cgrun_beat *beat, uint32_t what);
void cgrun_beat_forget(cgrun_beat *beat, uint32_t what);
/// Sleeps until the loop's thread has answered, or until somebody calls one of the next two.
void cgrun_beat_park(cgrun_beat *beat);
void cgrun_beat_unpark(cgrun_beat *beat);
/// All watchers of the loop look: one of them is to end, or the loop has.
void cgrun_beat_nudge(cgrun_beat *beat);
uint32_t cgrun_beat_nudges(const cgrun_beat *beat);
/// Sleeps until a time of CLOCK_MONOTONIC, or until there is another nudge than the first so many.
void cgrun_beat_wait(cgrun_beat *beat, uint32_t nudges, int64_t until);
/// The calling thread as the kernel knows it.
int32_t cgrun_thread_id(void);
/// A number that no other thread of the process ever has. A thread's id and its pthread_t do not suffice: when the
/// thread has ended, another thread may get them.
uint64_t cgrun_thread_serial(void);
/// The calling thread's number; 0 if cgrun_thread_serial() was not called on it yet. May be called in a signal handler.
uint64_t cgrun_thread_known_serial(void);
/// The thread as the kernel knows it, 0 if that is not known yet.
int32_t cgrun_beat_thread(const cgrun_beat *beat);
bool cgrun_beat_host_polls(const cgrun_beat *beat);

/// On the loop's thread, in a host's prepare: its poll comes next.
void cgrun_beat_note_poll(cgrun_beat *beat);
/// A source of a host's context that is never ready: it is prepared before all others, and checked before them when a
/// poll has ended, which it counts as a beat.
GSource *cgrun_beat_source_new(cgrun_beat *beat, GMainContext *context);
void cgrun_beat_source_close(GSource *source);

// MARK: Where a thread stands

enum { CGRUN_MOST_FRAMES = 96, CGRUN_SOURCE_NAME = 128 };
typedef struct {
    /// The innermost first.
    uintptr_t frames[CGRUN_MOST_FRAMES];
    unsigned frame_count;
    /// What it was doing: the count of its beat, and how many GLib dispatches were on its stack.
    uint32_t count;
    int depth;
    /// Of the innermost of these, its context and the name of the GSource, cut; empty if it has none.
    GMainContext *context;
    char source[CGRUN_SOURCE_NAME];
} cgrun_sample;
/// Gets the process ready to ask its threads by that signal. 0, or EBUSY if somebody else has a handler for it, EINVAL
/// if no program can have one.
int cgrun_sample_prepare(int signal);
/// As often as that has returned 0: the last time the signal is again what it was.
void cgrun_sample_finish(int signal);
/// Asks a thread, and waits for the answer, `span` nanoseconds at most: it may have blocked the signal, or be in the
/// kernel. False then, and if it is no thread of the process any more. One thread asks at a time.
bool cgrun_sample_take(const cgrun_beat *beat, int signal, int64_t span, cgrun_sample *sample);

// MARK: Names

// With glibc 2.35 or later, neither function takes the dynamic linker's lock, because a thread that stalls inside
// dlopen() holds it.

/// The function at an address as its file calls it, and the file; either is NULL if it is not known. Each is freed by
/// the caller.
void cgrun_symbol(uintptr_t address, char **function, char **file);
/// The name of the file that is loaded at an address, without folders, and the address in the file. False if there is
/// none. Allocates no memory and takes no lock.
bool cgrun_loaded_file(uintptr_t address, const char **name, uintptr_t *offset);

// MARK: The plain notice of a stall

/// A text that another thread writes to standard error at a given time, unless it is cancelled before.
typedef struct cgrun_notice cgrun_notice;
/// An empty notice that is not scheduled. 0, or what pthread_create() returns.
int cgrun_notice_new(cgrun_notice **notice);
void cgrun_notice_free(cgrun_notice *notice);

// The functions below allocate no memory, and take no lock that another thread holds while it allocates memory.

/// Schedules the notice for a time of CLOCK_MONOTONIC.
void cgrun_notice_schedule(cgrun_notice *notice, int64_t due);
/// Cancels the notice, unless writing has begun.
void cgrun_notice_cancel(cgrun_notice *notice);
// To be called only while the notice is not scheduled. Text that does not fit is left out.
void cgrun_notice_clear(cgrun_notice *notice);
/// A byte that is not printable ASCII becomes a question mark.
void cgrun_notice_put(cgrun_notice *notice, const void *bytes, size_t size);
void cgrun_notice_put_number(cgrun_notice *notice, uint64_t number, unsigned base);
void cgrun_notice_end_line(cgrun_notice *notice);
/// A line for each function on a stack: its address, its file, and the address in the file.
void cgrun_notice_put_frames(cgrun_notice *notice, const cgrun_sample *sample);

G_END_DECLS

#endif
