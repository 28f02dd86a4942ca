// SPDX-License-Identifier: Apache-2.0
// What was loaded stays: the shared library, or the plug-in, that this code is part of is not unmapped by dlclose().
//
// Swift's runtime knows the object, and has a hook of ours, from the moment it is loaded; GObject has the functions of
// our types, the system the destructor of a thread's loop, GLib our source: none of them can be told that the code
// goes.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

__attribute__((constructor)) static void stay(void)
{
    Dl_info info;
    struct link_map *object = NULL;
    // The program itself has no name, and stays anyway. All others are found by the name that they were loaded under.
    if (dladdr1((void *)stay, &info, (void **)&object, RTLD_DL_LINKMAP) && object != NULL && object->l_name[0] != 0)
        dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
