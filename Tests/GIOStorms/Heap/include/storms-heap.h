// SPDX-License-Identifier: Apache-2.0
// How much memory malloc() has given out.
#ifndef STORMS_HEAP_H
#define STORMS_HEAP_H

#include <stddef.h>

/// The bytes that malloc() has given out on all threads. Always zero under valgrind, which replaces malloc().
size_t storms_heap_bytes(void);

#endif
