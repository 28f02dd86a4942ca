// SPDX-License-Identifier: Apache-2.0
// Compiles the header of the C interface alone, to check that it needs no other header and causes no warnings.

#include <grun/grun.h>
