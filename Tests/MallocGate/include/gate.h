// SPDX-License-Identifier: Apache-2.0
// Process-wide locks that a test can hold: those of malloc(), of the dynamic linker and of standard error.
#ifndef MALLOC_GATE_H
#define MALLOC_GATE_H

#include <stdbool.h>

/// False under a sanitizer, which replaces malloc(). The functions for malloc() do nothing then.
extern const bool malloc_gate_exists;

/// Other threads can neither allocate nor free memory until the calling thread opens the gate.
void malloc_gate_close(void);
void malloc_gate_open(void);

/// Makes the dynamic linker's next call of malloc() on this thread call the function first.
void malloc_gate_call_in_linker(void (*function)(void));

/// Sleeps, and returns how often signal handlers on this thread have meanwhile allocated or freed memory.
unsigned malloc_gate_count_while_asleep(int milliseconds);

/// Returns after it has acquired and released the dynamic linker's lock.
void dynamic_linker_ask(void);

void standard_error_hold(void);
void standard_error_release(void);

#endif
