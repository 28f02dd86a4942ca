// SPDX-License-Identifier: Apache-2.0
// Keeps this code loaded: dlclose() does not unmap the shared library or the plug-in that contains it.
//
// Other code keeps pointers into this code. Swift's runtime has pointers to our metadata and to a hook. GObject has the
// functions of our types, and GLib has our source. The system has the destructor of a thread's loop.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

__attribute__((constructor(102))) static void stay(void)
{
    Dl_info info;
    struct link_map *object = NULL;
    // The program itself has an empty name here, and is never unmapped. For any other object, dlopen() is called again
    // with the name under which the object was loaded.
    if (dladdr1((void *)stay, &info, (void **)&object, RTLD_DL_LINKMAP) && object != NULL && object->l_name[0] != 0)
        dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
