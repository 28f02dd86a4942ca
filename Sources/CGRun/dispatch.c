// SPDX-License-Identifier: Apache-2.0
// libdispatch's entry points for a run loop that is not its own, looked up weakly: a libdispatch without them is
// reported, not a failure to load.

#include "cgrun.h"

#include <string.h>
#include <unistd.h>

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));
extern char _dispatch_main_q[] __attribute__((weak));

uint32_t cgrun_main_thread_id;

// A constructor, so that each pass of the main loop reads a plain variable: a constant in Swift would check first
// whether it was initialised.
__attribute__((constructor)) static void note_main_thread(void)
{
    cgrun_main_thread_id = (uint32_t)getpid();
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

uint32_t cgrun_main_queue_owner(void)
{
    // dq_state: its low 32 bits hold the owner's thread id without the two lowest flag bits of the lock word. There is
    // no public query, and a drain on any other thread ends the process.
    enum { STATE_OFFSET = 56 };
    uint32_t word;
    if (_dispatch_main_q == NULL)
        return 0;
    memcpy(&word, _dispatch_main_q + STATE_OFFSET, sizeof word);
    return word;
}
