// SPDX-License-Identifier: Apache-2.0
// How much memory malloc() has given out.

#include "storms-heap.h"

#include <malloc.h>

size_t storms_heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
