// SPDX-License-Identifier: Apache-2.0
// The main thread of a program whose main is async. When the async main first suspends, Swift's runtime calls a hook.
// Without a hook, the runtime gives the thread to libdispatch for good. Our hook is set when the library is loaded. It
// records what has happened and, if asked, calls a driver first.

#include "cgrun.h"

#include <stdatomic.h>

typedef __attribute__((swiftcall)) void (*drain_function)(void);
typedef __attribute__((swiftcall)) void (*drain_hook)(drain_function original, drain_function compatibility);

extern drain_hook swift_task_asyncMainDrainQueue_hook __attribute__((weak));

static drain_hook next_hook;
static _Atomic(void (*)(void)) driver;
static _Atomic(void (*)(void)) left;
int cgrun_async_main;
static uint32_t owner_at_load;

static void enter(int state) { __atomic_store_n(&cgrun_async_main, state, __ATOMIC_SEQ_CST); }

static __attribute__((swiftcall)) void drain(drain_function original, drain_function compatibility)
{
    void (*drive)(void) = atomic_load(&driver);
    if (drive != NULL) {
        enter(CGRUN_ASYNC_MAIN_DRIVEN);
        drive();
    }
    // There is no driver, or the driver has returned.
    enter(CGRUN_ASYNC_MAIN_LEFT);
    void (*tell)(void) = atomic_load(&left);
    if (tell != NULL)
        tell();
    if (next_hook != NULL)
        next_hook(original, compatibility);
    else
        original();
}

__attribute__((constructor)) static void watch(void)
{
    owner_at_load = cgrun_main_queue_owner();
    if (&swift_task_asyncMainDrainQueue_hook == NULL)
        return;
    next_hook = swift_task_asyncMainDrainQueue_hook;
    swift_task_asyncMainDrainQueue_hook = drain;
}

bool cgrun_set_async_main_driver(void (*drive)(void))
{
    if (&swift_task_asyncMainDrainQueue_hook == NULL)
        return false;
    // Replaces a hook that another library may have set after ours.
    swift_task_asyncMainDrainQueue_hook = drain;
    atomic_store(&driver, drive);
    return true;
}

int cgrun_watch_async_main(void (*tell)(void))
{
    // First `tell` is stored, and then the state is read: either this thread sees that the main thread has left, or the
    // main thread sees `tell`.
    atomic_store(&left, tell);
    return cgrun_async_main_state();
}

uint32_t cgrun_main_queue_owner_at_load(void)
{
    return owner_at_load;
}
