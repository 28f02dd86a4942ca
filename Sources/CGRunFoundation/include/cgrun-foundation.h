// SPDX-License-Identifier: Apache-2.0
// What serving Foundation's run loop needs of Core Foundation, which Foundation has in it, and of the dynamic linker.
//
// A run loop of Core Foundation's is a `void *` here, a string or an array a `const void *`. Nothing of the layout of
// its structures is known.

#pragma once

#include <stdbool.h>
#include <stdint.h>

// MARK: slots.c: calls between loaded objects

typedef struct {
    const char *name;
    void *original;
    void *replacement;
} cgrun_slot_function;

/// Where the linker of a machine puts the addresses of functions: the numbers of its relocations.
typedef struct {
    uint16_t machine;
    uint32_t jump_slot;
    uint32_t global_data;
} cgrun_slot_kinds;

/// Of x86-64, AArch64; NULL for another machine (`EM_…`).
const cgrun_slot_kinds *cgrun_slot_kinds_of(uint16_t machine);

typedef struct {
    /// For each of the functions: how many slots hold the new address in the object that has the function itself.
    unsigned *in_original;
    /// To be looked at once more: a slot was set just now, which another thread may be resolving, or an object is being
    /// loaded, and its slots were left alone.
    bool is_incomplete;
} cgrun_slots_result;

/// Puts `replacement` into each loaded object's slots that lead to one of the functions, or `original` back.
void cgrun_slots_set(const cgrun_slot_function *functions, unsigned count, bool back, cgrun_slots_result *result);

/// Changes whenever an object is loaded.
uint64_t cgrun_slots_loaded(void);

// MARK: notices.c: what is called of Core Foundation, from wherever

typedef enum {
    /// CFRunLoopWakeUp.
    CGRUN_NOTICE_WAKE_UP,
    /// CFRunLoopPerformBlock; `mode` may be an array or a set.
    CGRUN_NOTICE_BLOCK,
    /// CFRunLoopAddObserver.
    CGRUN_NOTICE_OBSERVER,
    /// CFRunLoopAddTimer.
    CGRUN_NOTICE_TIMER,
    /// CFRunLoopAddSource; it may be signalled already.
    CGRUN_NOTICE_SOURCE,
    /// CFRunLoopAddCommonMode.
    CGRUN_NOTICE_COMMON_MODE,
    /// CFRunLoopSourceSignal; of which loop is not known, `loop` is NULL.
    CGRUN_NOTICE_SIGNAL,
    /// CFRunLoopAddObserver of one that is to be the last of all.
    CGRUN_NOTICE_LAST_OBSERVER,
} cgrun_notice_kind;

typedef struct {
    /// After Core Foundation's own function, on any thread.
    void (*noticed)(void *loop, cgrun_notice_kind kind, const void *mode);
    /// Before a run that is not ours, of so many seconds. What is returned is given to `left` after it, unless NULL.
    void *(*entered)(void *loop, const void *mode, double seconds);
    void (*left)(void *guest);
    /// In the place of CFRunLoopStop, and of CFRunLoopIsWaiting.
    void (*stop)(void *loop);
    bool (*is_waiting)(void *loop);
    /// Somebody is about to drain the main queue: calls cgrun_guest_drain() in its own way.
    void (*drain)(void);
} cgrun_notices;

/// Finds the functions, before all else; false if there are none. The first time it waits for an object that is being
/// loaded: no lock may be held.
bool cgrun_notices_find(void);
/// From now on all of that is noticed. False if Foundation itself cannot be made to say so, as where it is linked
/// statically: nothing is changed then.
bool cgrun_notices_begin(const cgrun_notices *notices);
/// All slots are as before.
void cgrun_notices_end(void);
/// Objects that were loaded since are made to say so, too. False if that is to be done once more.
bool cgrun_notices_renew(void);
/// Drains the main queue, and lets Core Foundation know meanwhile.
void cgrun_guest_drain(void);

// MARK: guest.c: Core Foundation's functions; those that are noticed are in notices.c, and unnoticed from here

void *cgrun_guest_main(void);
void *cgrun_guest_current(void);
enum { CGRUN_GUEST_FINISHED = 1, CGRUN_GUEST_STOPPED = 2, CGRUN_GUEST_TIMED_OUT = 3, CGRUN_GUEST_HANDLED = 4 };
/// One pass of the current thread's loop, without waiting; returns after a handled source.
int32_t cgrun_guest_pass(void *loop, const void *mode);
void cgrun_guest_wake_up(void *loop);
/// A string of the caller's; NULL without memory.
const void *cgrun_guest_string(const char *text);
const void *cgrun_guest_retain(const void *object);
void cgrun_guest_release(const void *object);
/// The UTF-8 of a string, to be freed; NULL if it is none, or without memory.
char *cgrun_guest_copy_text(const void *string);
/// The names in a string, an array or a set: calls `body` for each.
void cgrun_guest_each_mode(const void *modes, void (*body)(const void *name, void *data), void *data);
bool cgrun_guest_is_common_modes(const void *name);
bool cgrun_guest_is_default_mode(const void *name);
/// The mode that is run now, the caller's; NULL if none is.
const void *cgrun_guest_copy_current_mode(void *loop);
/// An array of all modes, the caller's.
const void *cgrun_guest_copy_modes(void *loop);
bool cgrun_guest_is_common(void *loop, const void *mode);
void cgrun_guest_stop(void *loop);
bool cgrun_guest_is_waiting(void *loop);
void cgrun_guest_add_common_mode(void *loop, const void *mode);
/// The word in which Core Foundation says that it drains the main queue, for the calling thread.
intptr_t cgrun_guest_set_draining(intptr_t value);

/// A repeating observer, the caller's, the first or the last one.
void *cgrun_guest_observer(unsigned long activities, bool is_first, void (*body)(void *info, unsigned long activity),
                           void *info);
void cgrun_guest_add_observer(void *loop, void *observer, const void *mode);
/// It becomes the last one of its order.
void cgrun_guest_move_observer(void *loop, void *observer, const void *mode);
void cgrun_guest_invalidate_observer(void *observer);
/// A version-0 source, the caller's.
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

/// What a mode of the calling thread's loop waits for: an epoll, which stays Core Foundation's. -1 if it waits for
/// something else, -2 if no descriptor is left to find it by.
int cgrun_guest_find_epoll(void *loop, const void *mode);
bool cgrun_descriptor_is_readable(int descriptor);
