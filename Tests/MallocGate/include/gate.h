// SPDX-License-Identifier: Apache-2.0
// Locks of the process that a test keeps for as long as it likes: malloc()'s, the dynamic linker's, standard error's.
#ifndef MALLOC_GATE_H
#define MALLOC_GATE_H

#include <stdbool.h>

/// False under a sanitizer, which has a malloc() of its own: then the functions for malloc() do nothing.
extern const bool malloc_gate_exists;

/// No other thread gets memory, or frees any, until the calling thread has opened the gate.
void malloc_gate_close(void);
void malloc_gate_open(void);

/// The next call of malloc() by the dynamic linker, on the calling thread, first calls the function.
void malloc_gate_call_in_linker(void (*function)(void));

/// Sleeps, and returns how often the calling thread has got or freed memory meanwhile, in signal handlers.
unsigned malloc_gate_count_while_asleep(int milliseconds);

/// Returns once it has had the lock of the dynamic linker.
void dynamic_linker_ask(void);

void standard_error_hold(void);
void standard_error_release(void);

#endif
