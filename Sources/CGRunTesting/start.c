// SPDX-License-Identifier: Apache-2.0
// Starts the product in every test process that links it, so that a test target need not call a start function.

#include "cgrun-testing.h"

#include <stdlib.h>
#include <string.h>

// The constructors of the library itself have priorities, so they run before this constructor.
__attribute__((constructor)) static void start(void)
{
    const char *setting = getenv("GRUN_TESTING");
    bool drives = setting == NULL || strcmp(setting, "0") != 0;
    grun_testing_start(drives);
    if (drives)
        atexit(grun_testing_end);
}
