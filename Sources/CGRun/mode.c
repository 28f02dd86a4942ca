// SPDX-License-Identifier: Apache-2.0
// Recognizes the names of the default mode and of the common modes, which nearly every call of the C interface passes.

#include "cgrun.h"
#include "grun/grun.h"

#include <string.h>

// strcmp() takes up to 60 more instructions if a string lies near the end of a page. So the cost of a call would depend
// on the linker. With a constant length, the compiler turns memcmp() into a few inline instructions.
#define READS(name, length, text) ((length) == sizeof(text) - 1 && memcmp(name, text, sizeof(text) - 1) == 0)

cgrun_mode_kind cgrun_well_known_mode(const char *name)
{
    size_t length = strlen(name);
    if (READS(name, length, GRUN_MODE_DEFAULT))
        return CGRUN_MODE_DEFAULT;
    return READS(name, length, GRUN_MODE_COMMON) ? CGRUN_MODE_COMMON : CGRUN_MODE_OTHER;
}
