// SPDX-License-Identifier: Apache-2.0
// The beat of a loop: memory in which the loop's thread counts its callouts, so that watching threads see progress.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// Makes the probe of a new loop (LoopDiagnostics.swift).
void cgrun_make_probe(void *probe) __attribute__((visibility("hidden")));

// This constructor runs before the constructors of the program, because the program's constructors may use a loop.
__attribute__((constructor(101))) static void set_probe_maker(void) { cgrun_set_probe_maker(cgrun_make_probe); }

cgrun_beat *cgrun_beat_new(void)
{
    cgrun_beat *beat = g_new0(cgrun_beat, 1);
    beat->references = 1;
    return beat;
}

cgrun_beat *cgrun_beat_ref(cgrun_beat *beat)
{
    __atomic_add_fetch(&beat->references, 1, __ATOMIC_RELAXED);
    return beat;
}

void cgrun_beat_unref(cgrun_beat *beat)
{
    if (__atomic_sub_fetch(&beat->references, 1, __ATOMIC_ACQ_REL) == 0)
        g_free(beat);
}

void cgrun_beat_want(cgrun_beat *beat, uint32_t what) { __atomic_or_fetch(&beat->pulse.wants, what, __ATOMIC_SEQ_CST); }

void cgrun_beat_forget(cgrun_beat *beat, uint32_t what)
{
    __atomic_and_fetch(&beat->pulse.wants, ~what, __ATOMIC_SEQ_CST);
}

void cgrun_beat_park(cgrun_beat *beat)
{
    uint32_t wants;
    while ((wants = __atomic_load_n(&beat->pulse.wants, __ATOMIC_ACQUIRE)) & CGRUN_BEAT_PARKED)
        syscall(SYS_futex, &beat->pulse.wants, FUTEX_WAIT_PRIVATE, wants, NULL, NULL, 0);
}

void cgrun_beat_unpark(cgrun_beat *beat)
{
    cgrun_beat_forget(beat, CGRUN_BEAT_PARKED);
    int saved = errno;
    syscall(SYS_futex, &beat->pulse.wants, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

void cgrun_beat_nudge(cgrun_beat *beat)
{
    __atomic_add_fetch(&beat->nudges, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &beat->nudges, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    cgrun_beat_unpark(beat);
}

uint32_t cgrun_beat_nudges(const cgrun_beat *beat) { return __atomic_load_n(&beat->nudges, __ATOMIC_SEQ_CST); }

void cgrun_beat_wait(cgrun_beat *beat, uint32_t nudges, int64_t until)
{
    struct timespec end = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    // FUTEX_WAIT_BITSET takes an absolute time, unlike FUTEX_WAIT.
    while (cgrun_beat_nudges(beat) == nudges) {
        if (syscall(SYS_futex, &beat->nudges, FUTEX_WAIT_BITSET_PRIVATE, nudges, &end, NULL,
                FUTEX_BITSET_MATCH_ANY) != 0 && errno == ETIMEDOUT)
            return;
    }
}

// MARK: What a signal handler may ask GLib

/// GLib allocates memory in a thread's first call of g_main_depth(), and frees this memory in a destructor of
/// thread-specific data. A call after that destructor allocates the memory again. A signal handler must not allocate
/// memory, because the signal may have interrupted malloc().
static __thread enum { DEPTH_UNKNOWN, DEPTH_ALLOCATED, DEPTH_FREED } depth_memory
    __attribute__((tls_model("initial-exec")));

/// The glibc function by which C++ registers the destructor of a thread-local variable. When a thread ends, the
/// destructors of thread-local variables run before the destructors of thread-specific data.
int __cxa_thread_atexit_impl(void (*function)(void *), void *data, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void note_end_of_thread(void *unused)
{
    (void)unused;
    depth_memory = DEPTH_FREED;
}

static void allocate_depth(void)
{
    // If the thread is already ending, glibc would never call note_end_of_thread(), so `depth_memory` stays
    // DEPTH_UNKNOWN.
    if (depth_memory != DEPTH_UNKNOWN || cgrun_thread_ends())
        return;
    g_main_depth();
    if (__cxa_thread_atexit_impl(note_end_of_thread, NULL, &__dso_handle) == 0)
        depth_memory = DEPTH_ALLOCATED;
}

int cgrun_thread_depth(void) { return depth_memory == DEPTH_ALLOCATED ? g_main_depth() : 0; }

// MARK: The loop's thread

void cgrun_beat_answer(cgrun_beat *beat)
{
    uint32_t wants = __atomic_load_n(&beat->pulse.wants, __ATOMIC_RELAXED);
    if (wants & CGRUN_BEAT_UNKNOWN) {
        allocate_depth();
        __atomic_store_n(&beat->serial, cgrun_thread_serial(), __ATOMIC_RELAXED);
        __atomic_store_n(&beat->thread, gettid(), __ATOMIC_RELEASE);
        cgrun_beat_forget(beat, CGRUN_BEAT_UNKNOWN);
    }
    if (wants & CGRUN_BEAT_PARKED)
        cgrun_beat_unpark(beat);
}

static __thread uint64_t serial __attribute__((tls_model("initial-exec")));

uint64_t cgrun_thread_serial(void)
{
    static uint64_t last;
    if (serial == 0)
        serial = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return serial;
}

uint64_t cgrun_thread_known_serial(void) { return serial; }

int32_t cgrun_beat_thread(const cgrun_beat *beat) { return __atomic_load_n(&beat->thread, __ATOMIC_ACQUIRE); }

bool cgrun_beat_host_polls(const cgrun_beat *beat)
{
    return __atomic_load_n(&beat->host_polls, __ATOMIC_SEQ_CST) != 0;
}

// MARK: Under a host

typedef struct {
    GSource source;
    cgrun_beat *beat;
} BeatSource;

static bool is_elsewhere(const cgrun_beat *beat)
{
    return cgrun_beat_thread(beat) != 0
        && __atomic_load_n(&beat->serial, __ATOMIC_RELAXED) != cgrun_thread_known_serial();
}

void cgrun_beat_note_poll(cgrun_beat *beat)
{
    cgrun_beat_answer(beat);
    __atomic_store_n(&beat->host_polls, 1, __ATOMIC_SEQ_CST);
}

/// Records a host's poll. This function does nothing in a forked child, because the ring's lock may stay locked forever
/// there.
static void record_poll(const cgrun_beat *beat, cgrun_record_kind kind)
{
    if (beat->ring != NULL && !cgrun_has_forked())
        cgrun_ring_put(beat->ring, kind, 0, 0);
}

static gboolean beat_prepare(GSource *source, gint *timeout)
{
    cgrun_beat *beat = ((BeatSource *)source)->beat;
    *timeout = -1;
    if (is_elsewhere(beat))
        return FALSE;
    __atomic_store_n(&beat->host_polls, 1, __ATOMIC_SEQ_CST);
    record_poll(beat, CGRUN_RECORD_POLL);
    return FALSE;
}

static gboolean beat_check(GSource *source)
{
    cgrun_beat *beat = ((BeatSource *)source)->beat;
    if (is_elsewhere(beat))
        return FALSE;
    // Store `host_polls` and `count` before reading `wants`. A watcher stores `wants` before it reads `host_polls` and
    // `count`. In another order, each thread could miss the other thread's change.
    __atomic_store_n(&beat->host_polls, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&beat->pulse.count, cgrun_beat_count(beat) + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&beat->pulse.wants, __ATOMIC_SEQ_CST) & (CGRUN_BEAT_PARKED | CGRUN_BEAT_UNKNOWN))
        cgrun_beat_answer(beat);
    record_poll(beat, CGRUN_RECORD_POLLED);
    return FALSE;
}

static gboolean beat_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)source;
    (void)callback;
    (void)data;
    return G_SOURCE_CONTINUE;
}

static void beat_finalize(GSource *source) { cgrun_beat_unref(((BeatSource *)source)->beat); }

GSource *cgrun_beat_source_new(cgrun_beat *beat, GMainContext *context)
{
    static GSourceFuncs funcs = {
        .prepare = beat_prepare, .check = beat_check, .dispatch = beat_dispatch, .finalize = beat_finalize};
    GSource *source = g_source_new(&funcs, sizeof(BeatSource));
    ((BeatSource *)source)->beat = cgrun_beat_ref(beat);
    g_source_set_name(source, "GRunLoop beat");
    g_source_set_priority(source, G_MININT);
    g_source_attach(source, context);
    return source;
}

void cgrun_beat_source_close(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}
