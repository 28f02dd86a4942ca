// SPDX-License-Identifier: Apache-2.0
// libdispatch's entry points for a foreign run loop. They are weak symbols: if libdispatch lacks them, that is
// reported, and the library still loads.
//
// This file also wraps the other functions of libdispatch that the library needs. It uses libdispatch's C interface,
// because Swift's module Dispatch would load three more libraries into each process.

#include "cgrun.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

// The declarations of <dispatch/dispatch.h>, which not every compiler finds.
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

// This is a constructor, so that each pass of the main loop reads a plain variable. A constant in Swift would first
// check whether it was initialised.
__attribute__((constructor)) static void note_main_thread(void)
{
    cgrun_main_thread_id = (uint32_t)getpid();
}

static char main_queue_mark;

static void *const never_null = &main_queue_mark;
void *const *cgrun_main_queue_last = &never_null;

// The queue's number, which is 1, and its label never change. So they show whether the queue's words are where we
// expect them.
__attribute__((constructor)) static void find_last_block(void)
{
    if (cgrun_main_queue == NULL)
        return;
    unsigned long number;
    const char *label;
    memcpy(&number, cgrun_main_queue + CGRUN_QUEUE_NUMBER, sizeof number);
    memcpy(&label, cgrun_main_queue + CGRUN_QUEUE_LABEL, sizeof label);
    if (number == 1 && label == dispatch_queue_get_label(cgrun_main_queue))
        cgrun_main_queue_last = (void *const *)(cgrun_main_queue + CGRUN_QUEUE_LAST);
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
