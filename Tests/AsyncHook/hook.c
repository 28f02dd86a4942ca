// SPDX-License-Identifier: Apache-2.0
#include "hook.h"

#include <stddef.h>

typedef __attribute__((swiftcall)) void (*drain_function)(void);
typedef __attribute__((swiftcall)) void (*drain_hook)(drain_function original, drain_function compatibility);

extern drain_hook swift_task_asyncMainDrainQueue_hook;

static drain_hook former;
static void (*tell)(void);

static __attribute__((swiftcall)) void drain(drain_function original, drain_function compatibility)
{
    tell();
    if (former != NULL)
        former(original, compatibility);
    else
        original();
}

static __attribute__((swiftcall)) void tell_only(drain_function original, drain_function compatibility)
{
    (void)original;
    (void)compatibility;
    tell();
}

void async_hook_install_alone(void (*called)(void))
{
    tell = called;
    swift_task_asyncMainDrainQueue_hook = tell_only;
}

void async_hook_install(void (*called)(void))
{
    tell = called;
    former = swift_task_asyncMainDrainQueue_hook;
    swift_task_asyncMainDrainQueue_hook = drain;
}
