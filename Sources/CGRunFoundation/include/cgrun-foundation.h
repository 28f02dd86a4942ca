// SPDX-License-Identifier: Apache-2.0
// The C functions with which GRunLoopFoundation serves Foundation's run loop. These functions call Core Foundation,
// which is a part of Foundation, and use the data structures of the dynamic linker.
//
// In this header, a run loop, an observer or a source of Core Foundation is a `void *`. A string, an array or a set is
// a `const void *`. No code here depends on the layout of Core Foundation's structures.

#pragma once

#include <stdbool.h>
#include <stdint.h>

// MARK: slots.c: calls between loaded objects

typedef struct {
    const char *name;
    void *original;
    void *replacement;
} cgrun_slot_function;

/// The relocation types with which the dynamic linker of a machine puts the addresses of functions into slots.
typedef struct {
    uint16_t machine;
    uint32_t jump_slot;
    uint32_t global_data;
} cgrun_slot_kinds;

/// Returns the relocation types of a machine (`EM_…`); NULL unless the machine is x86-64 or AArch64.
const cgrun_slot_kinds *cgrun_slot_kinds_of(uint16_t machine);

typedef struct {
    /// An array with a number for each function: how many slots of the object that defines the function hold the new
    /// address. NULL if the caller does not need these numbers.
    unsigned *in_original;
    /// True if the slots must be set once more. There are two reasons. Another thread may be resolving a slot that was
    /// just set, or an object is still being loaded, so its slots were not set.
    bool is_incomplete;
} cgrun_slots_result;

/// Sets the slots of these functions in all loaded objects to `replacement`, or to `original` if `back` is true.
/// `result` may be NULL.
void cgrun_slots_set(const cgrun_slot_function *functions, unsigned count, bool back, cgrun_slots_result *result);

/// Returns a number that changes whenever an object is loaded.
uint64_t cgrun_slots_loaded(void);

// MARK: notices.c: calls of Core Foundation by any object

typedef enum {
    /// CFRunLoopWakeUp.
    CGRUN_NOTICE_WAKE_UP,
    /// CFRunLoopPerformBlock; `mode` may be an array or a set.
    CGRUN_NOTICE_BLOCK,
    /// CFRunLoopAddObserver.
    CGRUN_NOTICE_OBSERVER,
    /// CFRunLoopAddTimer.
    CGRUN_NOTICE_TIMER,
    /// CFRunLoopAddSource; the source may already be signalled.
    CGRUN_NOTICE_SOURCE,
    /// CFRunLoopAddCommonMode.
    CGRUN_NOTICE_COMMON_MODE,
    /// CFRunLoopSourceSignal. `loop` is NULL, because the source's loop is not known.
    CGRUN_NOTICE_SIGNAL,
    /// CFRunLoopAddObserver with an observer of order LONG_MAX. Our own observers of this order must move behind that
    /// observer.
    CGRUN_NOTICE_LAST_OBSERVER,
} cgrun_notice_kind;

typedef struct {
    /// Called after Core Foundation's own function has returned, on the thread that called it.
    void (*noticed)(void *loop, cgrun_notice_kind kind, const void *mode);
    /// Called before a run of Core Foundation that the program or Foundation makes. `seconds` is the time limit of this
    /// run. If the result is not NULL, `left` is called with this result after the run.
    void *(*entered)(void *loop, const void *mode, double seconds);
    void (*left)(void *guest);
    /// `stop` is called instead of CFRunLoopStop, and `is_waiting` is called instead of CFRunLoopIsWaiting.
    void (*stop)(void *loop);
    bool (*is_waiting)(void *loop);
    /// Called instead of a drain of the main queue. `drain` must call cgrun_guest_drain().
    void (*drain)(void);
} cgrun_notices;

/// Finds Core Foundation's functions. Returns false if one of these functions is missing. Call cgrun_notices_find()
/// before all other functions of notices.c. The first call waits while another thread loads an object, so the caller
/// must not hold a lock.
bool cgrun_notices_find(void);
/// Begins to notice calls. If calls by Foundation itself cannot be noticed, for example because Foundation is linked
/// statically, returns false and restores all slots. Only the first call of this function uses its argument `notices`:
/// later calls ignore the argument.
bool cgrun_notices_begin(const cgrun_notices *notices);
/// Stops noticing calls, and restores all slots.
void cgrun_notices_end(void);
/// Also begins to notice the calls of objects that were loaded since cgrun_notices_begin(). Returns false if this
/// function must be called once more.
bool cgrun_notices_renew(void);
/// Drains the main queue. During the drain, Core Foundation's word for "this thread is draining the main queue" is set.
void cgrun_guest_drain(void);

// MARK: guest.c: Core Foundation's functions, also those of notices.c, whose calls from here are not noticed

void *cgrun_guest_main(void);
void *cgrun_guest_current(void);
enum { CGRUN_GUEST_FINISHED = 1, CGRUN_GUEST_STOPPED = 2, CGRUN_GUEST_TIMED_OUT = 3, CGRUN_GUEST_HANDLED = 4 };
/// Makes one pass of the calling thread's loop, without waiting. Returns after a handled source.
int32_t cgrun_guest_pass(void *loop, const void *mode);
void cgrun_guest_wake_up(void *loop);
/// Creates a string, which the caller releases. NULL if there is no memory.
const void *cgrun_guest_string(const char *text);
const void *cgrun_guest_retain(const void *object);
void cgrun_guest_release(const void *object);
/// Returns the UTF-8 text of a string of Core Foundation. The caller frees this text. Returns NULL if the object is not
/// a string, or if there is no memory.
char *cgrun_guest_copy_text(const void *string);
/// Calls `body` for each name of a mode. `modes` is one string, or an array or a set of strings.
void cgrun_guest_each_mode(const void *modes, void (*body)(const void *name, void *data), void *data);
bool cgrun_guest_is_common_modes(const void *name);
bool cgrun_guest_is_default_mode(const void *name);
/// Returns the name of the mode that the loop runs now; NULL if the loop runs no mode. The caller releases the name.
const void *cgrun_guest_copy_current_mode(void *loop);
/// Returns an array of the names of all modes. The caller releases the array.
const void *cgrun_guest_copy_modes(void *loop);
/// Returns the name of the default mode, which is always common. The caller does not release the name.
const void *cgrun_guest_default_mode(void);
bool cgrun_guest_is_common(void *loop, const void *mode);
void cgrun_guest_stop(void *loop);
bool cgrun_guest_is_waiting(void *loop);
void cgrun_guest_add_common_mode(void *loop, const void *mode);
/// Sets Core Foundation's word for "this thread is draining the main queue". Returns the former value.
intptr_t cgrun_guest_set_draining(intptr_t value);

/// Creates a repeating observer, which the caller releases. If `is_first` is true, the observer has the lowest order,
/// so it is called first. Otherwise the observer has the highest order.
void *cgrun_guest_observer(unsigned long activities, bool is_first, void (*body)(void *info, unsigned long activity),
                           void *info);
void cgrun_guest_add_observer(void *loop, void *observer, const void *mode);
/// Removes an observer and adds it again, so that it is called after all other observers of the same order.
void cgrun_guest_move_observer(void *loop, void *observer, const void *mode);
void cgrun_guest_invalidate_observer(void *observer);
/// Creates a version-0 source, which the caller releases.
void *cgrun_guest_source(void (*body)(void *info), void *info);
void cgrun_guest_add_source(void *loop, void *source, const void *mode);
void cgrun_guest_remove_source(void *loop, void *source, const void *mode);
void cgrun_guest_signal_source(void *source);
void cgrun_guest_invalidate_source(void *source);

enum {
    CGRUN_GUEST_ENTRY = 1 << 0,
    CGRUN_GUEST_BEFORE_TIMERS = 1 << 1,
    CGRUN_GUEST_BEFORE_SOURCES = 1 << 2,
    CGRUN_GUEST_BEFORE_WAITING = 1 << 5,
    CGRUN_GUEST_EXIT = 1 << 7,
};

/// Returns the epoll in which the calling thread's loop waits when it runs a mode. Core Foundation owns this epoll, so
/// the caller must not close it. The result is -1 if the mode does not wait in an epoll, and -2 if no descriptor or
/// memory is left for the search.
int cgrun_guest_find_epoll(void *loop, const void *mode);
bool cgrun_descriptor_is_readable(int descriptor);
