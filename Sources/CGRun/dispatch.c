// SPDX-License-Identifier: Apache-2.0
// libdispatch's entry points for a foreign run loop. The entry points are weak symbols, so the library loads even if
// libdispatch lacks them. In that case the library logs that they are missing.
//
// This file also wraps the other functions of libdispatch that the library needs. The library does not import Swift's
// module Dispatch, because that module would load three more libraries into each process.

#include "cgrun.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

// Copied from <dispatch/dispatch.h>, which not every compiler finds.
typedef void *queue;
typedef void (*function)(void *context);
extern queue dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
extern uint64_t dispatch_time(uint64_t when, int64_t nanoseconds);
extern void dispatch_after_f(uint64_t when, queue on, void *context, function call);
extern void dispatch_async_f(queue on, void *context, function call);
extern void dispatch_queue_set_specific(queue on, const void *key, void *value, function destroy);
extern void *dispatch_get_specific(const void *key);
extern const char *dispatch_queue_get_label(queue of);

uint32_t cgrun_main_thread_id;

static char main_queue_mark;

static void *const never_null = &main_queue_mark;
static const uint32_t no_thread;
void *const *cgrun_main_queue_last = &never_null;
const uint32_t *cgrun_main_queue_state = &no_thread;

/// The offsets of the words in the main queue: dq_items_tail, dq_state, dq_serialnum, dq_label.
enum { LAST = 48, STATE = 56, NUMBER = 64, LABEL = 72 };

bool cgrun_has_known_words(const char *queue, const char *label)
{
    unsigned long number;
    const char *found;
    memcpy(&number, queue + NUMBER, sizeof number);
    memcpy(&found, queue + LABEL, sizeof found);
    return number == 1 && found == label;
}

// Finds the two private words of the main queue that we read: the last block and the state. The serial number and the
// label behind them never change, so they show whether the offsets are right for this libdispatch. If the offsets are
// wrong, the kernel is asked whether a block waits, and the queue counts as bound to the main thread. In this case the
// library does not notice a call of dispatchMain().
//
// This function is a constructor, so that each pass of the main loop reads plain variables. Each access to a Swift
// constant would first check whether the constant was initialised. Other constructors read these variables, so this
// constructor has the first priority.
__attribute__((constructor(101))) static void find_words(void)
{
    cgrun_main_thread_id = (uint32_t)getpid();
    if (cgrun_main_queue == NULL)
        return;
    bool are_known = cgrun_has_known_words(cgrun_main_queue, dispatch_queue_get_label(cgrun_main_queue));
    if (are_known)
        cgrun_main_queue_last = (void *const *)(cgrun_main_queue + LAST);
    cgrun_main_queue_state = are_known ? (const uint32_t *)(cgrun_main_queue + STATE) : &cgrun_main_thread_id;
}

int cgrun_main_queue_handle(void)
{
    if (_dispatch_get_main_queue_handle_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL)
        return -1;
    return _dispatch_get_main_queue_handle_4CF();
}

void cgrun_main_queue_drain(void)
{
    _dispatch_main_queue_callback_4CF(NULL);
}

static void mark_main_queue(void)
{
    dispatch_queue_set_specific(cgrun_main_queue, &main_queue_mark, &main_queue_mark, NULL);
}

bool cgrun_is_on_main_queue(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, mark_main_queue);
    return dispatch_get_specific(&main_queue_mark) != NULL;
}

void cgrun_call_on_main_queue(void (*call)(void *), void *context)
{
    dispatch_async_f(cgrun_main_queue, context, call);
}

void cgrun_call_later(int64_t nanoseconds, void (*call)(void *), void *context)
{
    dispatch_after_f(dispatch_time(0, nanoseconds), dispatch_get_global_queue(0, 0), context, call);
}
