// SPDX-License-Identifier: Apache-2.0
// malloc() of the tests' child process: libc's malloc() behind a gate.

#define _GNU_SOURCE

#include "gate.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void dynamic_linker_ask(void)
{
    Dl_info info;
    dladdr((const void *)dynamic_linker_ask, &info);
}

void standard_error_hold(void) { flockfile(stderr); }
void standard_error_release(void) { funlockfile(stderr); }

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

const bool malloc_gate_exists = false;
void malloc_gate_close(void) {}
void malloc_gate_open(void) {}
void malloc_gate_call_in_linker(void (*function)(void)) { (void)function; }
unsigned malloc_gate_count_while_asleep(int milliseconds)
{
    (void)milliseconds;
    return 0;
}

#else

const bool malloc_gate_exists = true;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/// How often the calling thread has asked for memory, including its signal handlers.
static __thread unsigned allocations;

/// The thread that has closed the gate; 0 if the gate is open.
static int keeper;
static __thread void (*next_call)(void);

void malloc_gate_close(void) { __atomic_store_n(&keeper, gettid(), __ATOMIC_SEQ_CST); }

void malloc_gate_open(void)
{
    __atomic_store_n(&keeper, 0, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &keeper, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void malloc_gate_call_in_linker(void (*function)(void)) { next_call = function; }

unsigned malloc_gate_count_while_asleep(int milliseconds)
{
    unsigned before = allocations;
    struct timespec left = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    return allocations - before;
}

static bool is_in_linker(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "/ld-") != NULL;
}

static void pass_gate(void)
{
    allocations++;
    int found;
    while ((found = __atomic_load_n(&keeper, __ATOMIC_SEQ_CST)) != 0 && found != gettid())
        syscall(SYS_futex, &keeper, FUTEX_WAIT_PRIVATE, found, NULL, NULL, 0);
}

void *malloc(size_t size)
{
    void (*function)(void) = next_call;
    if (function != NULL && is_in_linker(__builtin_return_address(0))) {
        next_call = NULL;
        function();
    }
    pass_gate();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    pass_gate();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    pass_gate();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    pass_gate();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    pass_gate();
    *memory = __libc_memalign(alignment, size);
    return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    int saved = errno;
    pass_gate();
    errno = saved;
    __libc_free(memory);
}

#endif
