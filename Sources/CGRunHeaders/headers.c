// SPDX-License-Identifier: Apache-2.0
// The header of the C interface by itself: it needs no other header, and warns of nothing.

#include <grun/grun.h>
