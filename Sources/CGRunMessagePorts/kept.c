// SPDX-License-Identifier: Apache-2.0
// Descriptors that are closed in a forked child.

#define _GNU_SOURCE

#include "kept.h"

#include "cgrun-message-ports.h"
#include "cgrun.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// `kept` has a bit for each descriptor that must be closed in a forked child. The mutex guards `kept`. A thread also
// holds the mutex during fork(), and while it opens or closes such a descriptor, so no child is forked in between. A
// thread that holds the mutex uses syscall() instead of a libc function that is a cancellation point, because
// pthread_cancel() could end the thread there.
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long *kept;
static unsigned kept_words;
enum { WORD = sizeof(unsigned long) * CHAR_BIT };

static void before_fork(void) { pthread_mutex_lock(&kept_mutex); }

static void after_fork(void) { pthread_mutex_unlock(&kept_mutex); }

static void after_fork_in_child(void)
{
    for (unsigned word = 0; word < kept_words; word++)
        for (; kept[word] != 0; kept[word] &= kept[word] - 1)
            syscall(SYS_close, word * WORD + __builtin_ctzl(kept[word]));
    pthread_mutex_unlock(&kept_mutex);
}

static void watch_fork(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

void cgrun_begin_keeping(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&kept_mutex);
}

int cgrun_end_keeping(int descriptor)
{
    if (descriptor >= 0) {
        unsigned word = descriptor / WORD;
        if (word >= kept_words) {
            unsigned words = MAX(word + 1, 2 * kept_words);
            kept = g_renew(unsigned long, kept, words);
            memset(kept + kept_words, 0, (words - kept_words) * sizeof *kept);
            kept_words = words;
        }
        kept[word] |= 1ul << descriptor % WORD;
    }
    pthread_mutex_unlock(&kept_mutex);
    return descriptor;
}

void cgrun_kept_close(int descriptor)
{
    pthread_mutex_lock(&kept_mutex);
    unsigned long bit = 1ul << descriptor % WORD;
    // In a forked child the bit is not set: the descriptor was closed at the fork, and another file may have its number
    // now.
    if (kept[descriptor / WORD] & bit) {
        kept[descriptor / WORD] &= ~bit;
        syscall(SYS_close, descriptor);
    }
    pthread_mutex_unlock(&kept_mutex);
}
