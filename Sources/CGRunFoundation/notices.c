// SPDX-License-Identifier: Apache-2.0
// Notices calls of Core Foundation's functions that give a run loop work, or that run or stop a loop. In all loaded
// objects, such a call leads to a function in this file, which reports the call.

#define _GNU_SOURCE

#include "cgrun-foundation.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>

typedef const void *Ref;

extern long CFRunLoopObserverGetOrder(void *observer);

static void wake_up(void *loop);
static void perform_block(void *loop, Ref mode, void *block);
static void add_observer(void *loop, void *observer, Ref mode);
static void add_timer(void *loop, void *timer, Ref mode);
static void add_source(void *loop, void *source, Ref mode);
static void add_common_mode(void *loop, Ref mode);
static void signal_source(void *source);
static void stop(void *loop);
static unsigned char is_waiting(void *loop);
static int32_t run(void *loop, Ref mode, double seconds, unsigned char returns_after_source);
static void drain(void *message);

// The first functions, up to RUN, must each have a slot in Foundation itself. Otherwise Foundation's own calls of a
// function would not be noticed.
enum {
    WAKE_UP, PERFORM_BLOCK, ADD_OBSERVER, ADD_TIMER, ADD_SOURCE, SIGNAL, STOP, RUN,
    ADD_COMMON_MODE, IS_WAITING, DRAIN, COUNT,
};

static cgrun_slot_function functions[COUNT] = {
    [WAKE_UP] = {"CFRunLoopWakeUp", NULL, (void *)wake_up},
    [PERFORM_BLOCK] = {"CFRunLoopPerformBlock", NULL, (void *)perform_block},
    [ADD_OBSERVER] = {"CFRunLoopAddObserver", NULL, (void *)add_observer},
    [ADD_TIMER] = {"CFRunLoopAddTimer", NULL, (void *)add_timer},
    [ADD_SOURCE] = {"CFRunLoopAddSource", NULL, (void *)add_source},
    [SIGNAL] = {"CFRunLoopSourceSignal", NULL, (void *)signal_source},
    [STOP] = {"CFRunLoopStop", NULL, (void *)stop},
    // All functions that run a loop of Core Foundation call CFRunLoopRunSpecific.
    [RUN] = {"CFRunLoopRunSpecific", NULL, (void *)run},
    [ADD_COMMON_MODE] = {"CFRunLoopAddCommonMode", NULL, (void *)add_common_mode},
    [IS_WAITING] = {"CFRunLoopIsWaiting", NULL, (void *)is_waiting},
    [DRAIN] = {"_dispatch_main_queue_callback_4CF", NULL, (void *)drain},
};

static cgrun_notices notices;

#define ORIGINAL(which, type) ((type)functions[which].original)

static void wake_up(void *loop)
{
    ORIGINAL(WAKE_UP, void (*)(void *))(loop);
    notices.noticed(loop, CGRUN_NOTICE_WAKE_UP, NULL);
}

static void perform_block(void *loop, Ref mode, void *block)
{
    ORIGINAL(PERFORM_BLOCK, void (*)(void *, Ref, void *))(loop, mode, block);
    notices.noticed(loop, CGRUN_NOTICE_BLOCK, mode);
}

static void add_observer(void *loop, void *observer, Ref mode)
{
    ORIGINAL(ADD_OBSERVER, void (*)(void *, void *, Ref))(loop, observer, mode);
    if (CFRunLoopObserverGetOrder(observer) == LONG_MAX)
        notices.noticed(loop, CGRUN_NOTICE_LAST_OBSERVER, NULL);
    notices.noticed(loop, CGRUN_NOTICE_OBSERVER, mode);
}

static void add_timer(void *loop, void *timer, Ref mode)
{
    ORIGINAL(ADD_TIMER, void (*)(void *, void *, Ref))(loop, timer, mode);
    notices.noticed(loop, CGRUN_NOTICE_TIMER, mode);
}

static void add_source(void *loop, void *source, Ref mode)
{
    ORIGINAL(ADD_SOURCE, void (*)(void *, void *, Ref))(loop, source, mode);
    notices.noticed(loop, CGRUN_NOTICE_SOURCE, mode);
}

static void add_common_mode(void *loop, Ref mode)
{
    ORIGINAL(ADD_COMMON_MODE, void (*)(void *, Ref))(loop, mode);
    notices.noticed(loop, CGRUN_NOTICE_COMMON_MODE, mode);
}

static void signal_source(void *source)
{
    ORIGINAL(SIGNAL, void (*)(void *))(source);
    notices.noticed(NULL, CGRUN_NOTICE_SIGNAL, NULL);
}

static void stop(void *loop) { notices.stop(loop); }
static unsigned char is_waiting(void *loop) { return notices.is_waiting(loop); }

static int32_t run_original(void *loop, Ref mode, double seconds, unsigned char returns_after_source)
{
    int32_t (*original)(void *, Ref, double, unsigned char) = functions[RUN].original;
    return original(loop, mode, seconds, returns_after_source);
}

static int32_t run(void *loop, Ref mode, double seconds, unsigned char returns_after_source)
{
    void *guest = notices.entered(loop, mode, seconds);
    int32_t result = run_original(loop, mode, seconds, returns_after_source);
    if (guest != NULL)
        notices.left(guest);
    return result;
}

int32_t cgrun_guest_pass(void *loop, const void *mode) { return run_original(loop, mode, 0, true); }
void cgrun_guest_wake_up(void *loop) { ORIGINAL(WAKE_UP, void (*)(void *))(loop); }

void cgrun_guest_add_common_mode(void *loop, const void *mode)
{
    ORIGINAL(ADD_COMMON_MODE, void (*)(void *, Ref))(loop, mode);
}

void cgrun_guest_add_observer(void *loop, void *observer, const void *mode)
{
    ORIGINAL(ADD_OBSERVER, void (*)(void *, void *, Ref))(loop, observer, mode);
}

void cgrun_guest_add_source(void *loop, void *source, const void *mode)
{
    ORIGINAL(ADD_SOURCE, void (*)(void *, void *, Ref))(loop, source, mode);
}

bool cgrun_guest_is_waiting(void *loop) { return ORIGINAL(IS_WAITING, unsigned char (*)(void *))(loop); }
void cgrun_guest_stop(void *loop) { ORIGINAL(STOP, void (*)(void *))(loop); }
void cgrun_guest_signal_source(void *source) { ORIGINAL(SIGNAL, void (*)(void *))(source); }

static void drain(void *message)
{
    (void)message;
    notices.drain();
}

void cgrun_guest_drain(void)
{
    intptr_t before = cgrun_guest_set_draining(true);
    ORIGINAL(DRAIN, void (*)(void *))(NULL);
    cgrun_guest_set_draining(before);
}

/// Prevents dlclose() from unloading this code, because a thread may be in one of our functions when the slots are
/// restored.
static void stay(void)
{
    Dl_info info;
    struct link_map *object = NULL;
    if (dladdr1((void *)stay, &info, (void **)&object, RTLD_DL_LINKMAP) && object != NULL && object->l_name[0] != 0)
        dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void find(void)
{
    for (unsigned i = 0; i < COUNT; i++)
        functions[i].original = dlsym(RTLD_DEFAULT, functions[i].name);
    stay();
}

bool cgrun_notices_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    for (unsigned i = 0; i < COUNT; i++)
        if (functions[i].original == NULL)
            return false;
    return true;
}

bool cgrun_notices_begin(const cgrun_notices *wanted)
{
    // Set `notices` only once, because another thread may still read it in a call that began before the last
    // cgrun_notices_end().
    if (notices.noticed == NULL)
        notices = *wanted;
    unsigned in_original[COUNT] = {0};
    cgrun_slots_result result = {.in_original = in_original};
    cgrun_slots_set(functions, COUNT, false, &result);
    for (unsigned i = 0; i <= RUN; i++) {
        if (in_original[i] > 0)
            continue;
        cgrun_notices_end();
        return false;
    }
    return true;
}

void cgrun_notices_end(void) { cgrun_slots_set(functions, COUNT, true, NULL); }

bool cgrun_notices_renew(void)
{
    cgrun_slots_result result = {0};
    cgrun_slots_set(functions, COUNT, false, &result);
    return !result.is_incomplete;
}
