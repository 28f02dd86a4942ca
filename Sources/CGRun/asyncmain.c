// SPDX-License-Identifier: Apache-2.0
// The main thread of a program whose main is async. When the async main first suspends, Swift's runtime calls a hook.
// Without a hook, the runtime gives the thread to libdispatch for good. Our hook is set when the library is loaded. It
// records what has happened and, if asked, calls a driver first.

#include "cgrun.h"

#include <stdatomic.h>

typedef __attribute__((swiftcall)) void (*drain_function)(void);
typedef __attribute__((swiftcall)) void (*drain_hook)(drain_function original, drain_function compatibility);

extern drain_hook swift_task_asyncMainDrainQueue_hook __attribute__((weak));

// The hooks of other libraries: one that was there when this library was loaded, and one that came later.
static drain_hook earlier_hook, later_hook;
static _Atomic(void (*)(void)) driver;
static _Atomic(void (*)(void)) left;
int cgrun_async_main;
static uint32_t owner_at_load;
/// The two functions that the runtime has passed to the first hook. Set on the main thread.
static drain_function original, compatibility;

static void enter(int state) { __atomic_store_n(&cgrun_async_main, state, __ATOMIC_SEQ_CST); }

static __attribute__((swiftcall)) void drive(void)
{
    // A hook may call this function, or the hook that was there before it, more than once.
    static bool has_driven;
    if (has_driven) {
        original();
        return;
    }
    has_driven = true;
    void (*call)(void) = atomic_load(&driver);
    if (call != NULL) {
        enter(CGRUN_ASYNC_MAIN_DRIVEN);
        call();
    }
    // There is no driver, or the driver has returned.
    enter(CGRUN_ASYNC_MAIN_LEFT);
    void (*tell)(void) = atomic_load(&left);
    if (tell != NULL)
        tell();
    if (earlier_hook != NULL)
        earlier_hook(original, compatibility);
    else
        original();
}

// A later hook goes first. It usually calls the hook that was there before it, which is this one, or the function that
// it is passed, which is drive(). If it returns without either, the main thread is driven after it. A hook that keeps
// the main thread to itself keeps it from this library, too.
static __attribute__((swiftcall)) void drain(drain_function passed, drain_function passed_compatibility)
{
    bool is_first = original == NULL;
    if (is_first) {
        original = passed;
        compatibility = passed_compatibility;
    }
    if (is_first && later_hook != NULL)
        later_hook(drive, compatibility);
    drive();
}

__attribute__((constructor)) static void watch(void)
{
    owner_at_load = cgrun_main_queue_owner();
    if (&swift_task_asyncMainDrainQueue_hook == NULL)
        return;
    earlier_hook = swift_task_asyncMainDrainQueue_hook;
    swift_task_asyncMainDrainQueue_hook = drain;
}

bool cgrun_set_async_main_driver(void (*call)(void))
{
    if (&swift_task_asyncMainDrainQueue_hook == NULL)
        return false;
    // Another library may have set a hook since this one was loaded, which need not call ours. A hook that is set after
    // a second call is not called any more.
    drain_hook current = swift_task_asyncMainDrainQueue_hook;
    if (current != drain && later_hook == NULL)
        later_hook = current;
    swift_task_asyncMainDrainQueue_hook = drain;
    atomic_store(&driver, call);
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
