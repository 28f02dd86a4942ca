// SPDX-License-Identifier: Apache-2.0
// The main thread of a program whose main is async. When that main first suspends, Swift's runtime calls a hook.
// Without a hook, the runtime gives the main thread to libdispatch permanently. Our hook is set when the library is
// loaded. The hook calls the driver that cgrun_set_async_main_driver() has set, if any, and records the state of the
// main thread.

#include "cgrun.h"

#include <stdatomic.h>

typedef __attribute__((swiftcall)) void (*drain_function)(void);
typedef __attribute__((swiftcall)) void (*drain_hook)(drain_function original, drain_function compatibility);

extern drain_hook swift_task_asyncMainDrainQueue_hook __attribute__((weak));

// The hooks of other libraries: the hook that was set when this library was loaded, and a hook that was set later.
static drain_hook earlier_hook, later_hook;
static _Atomic(void (*)(void)) driver;
static _Atomic(void (*)(void)) left;
int cgrun_async_main;
static uint32_t owner_at_load;
/// The two functions that the runtime passes to a hook. Set on the main thread.
static drain_function original, compatibility;

static void enter(int state) { __atomic_store_n(&cgrun_async_main, state, __ATOMIC_SEQ_CST); }

static __attribute__((swiftcall)) void drive(void)
{
    // A hook of another library may call this function, or drain(), more than once.
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
    // Either there is no driver, or the driver has returned.
    enter(CGRUN_ASYNC_MAIN_LEFT);
    void (*tell)(void) = atomic_load(&left);
    if (tell != NULL)
        tell();
    if (earlier_hook != NULL)
        earlier_hook(original, compatibility);
    else
        original();
}

// Our hook. It first calls the hook that another library has set later. The later hook usually calls drain(), the hook
// that it has replaced, or drive(), its argument. If the later hook returns without calling either function, drain()
// itself calls drive(). If the later hook never returns, this library does not get the main thread.
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

__attribute__((constructor(102))) static void watch(void)
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
    // Another library may have set a hook since this library was loaded, and that hook need not call our hook. So set
    // our hook again; drain() calls the other library's hook. Only the first such hook is stored. A second hook that a
    // later call of this function finds is never called.
    drain_hook current = swift_task_asyncMainDrainQueue_hook;
    if (current != drain && later_hook == NULL)
        later_hook = current;
    swift_task_asyncMainDrainQueue_hook = drain;
    atomic_store(&driver, call);
    return true;
}

int cgrun_watch_async_main(void (*tell)(void))
{
    // Store `tell` before the state is read. So either this thread sees that the main thread was given to libdispatch,
    // or the main thread sees `tell`.
    atomic_store(&left, tell);
    return cgrun_async_main_state();
}

uint32_t cgrun_main_queue_owner_at_load(void)
{
    return owner_at_load;
}
