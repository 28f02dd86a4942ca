// SPDX-License-Identifier: Apache-2.0
// The plain notice of a stall. A separate thread, the writing thread, writes this notice if the full report is late.
// The usual cause of a late report is that the watcher waits for a lock that the stalled thread holds.
//
// The writing thread takes only `lock`. A thread that holds `lock` does not allocate memory, log or call the program.
// The writing thread allocates no memory, and writes with write(2). One writing thread serves all watchers of the
// process, and ends when the last watcher ends.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TEXT = 12288 };

typedef struct {
    size_t size;
    char bytes[MOST_TEXT];
} Text;

struct cgrun_notice {
    cgrun_notice *next;
    /// The time to write the notice, in nanoseconds of CLOCK_MONOTONIC; INT64_MAX if the notice is not scheduled.
    int64_t due;
    /// The text of the notice. The watcher that owns the notice changes the text only while the notice is not
    /// scheduled.
    Text text;
};

// Guarded by `lock`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static cgrun_notice *notices;
static bool has_thread;

/// Held while the writing thread is started. `lock` must not be held then, because pthread_create() allocates memory.
/// The writing thread itself never takes `starting`.
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

// MARK: Writing

static cgrun_notice *first_due(void)
{
    cgrun_notice *first = notices;
    for (cgrun_notice *each = notices; each != NULL; each = each->next) {
        if (each->due < first->due)
            first = each;
    }
    return first;
}

static void write_text(const Text *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t count = write(STDERR_FILENO, text->bytes + done, text->size - done);
        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return;
    }
}

static void *serve(void *unused)
{
    (void)unused;
    static Text copy;
    cgrun_set_thread_name("stall notices");
    pthread_mutex_lock(&lock);
    for (cgrun_notice *next; (next = first_due()) != NULL;) {
        int64_t due = next->due;
        if (due > cgrun_now()) {
            struct timespec until = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
            pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
            continue;
        }
        next->due = INT64_MAX;
        copy.size = next->text.size;
        memcpy(copy.bytes, next->text.bytes, copy.size);
        pthread_mutex_unlock(&lock);
        write_text(&copy);
        pthread_mutex_lock(&lock);
    }
    has_thread = false;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/// Starts the writing thread with all signals blocked, because only the program's threads must handle signals.
static int start_thread(void)
{
    pthread_t thread;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    int error = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (error == 0)
        pthread_detach(thread);
    return error;
}

// MARK: For a watcher

static void remove_notice(cgrun_notice *notice)
{
    cgrun_notice **place = &notices;
    while (*place != notice)
        place = &(*place)->next;
    *place = notice->next;
    pthread_cond_signal(&changed);
}

int cgrun_notice_new(cgrun_notice **result)
{
    cgrun_notice *notice = g_new0(cgrun_notice, 1);
    notice->due = INT64_MAX;
    pthread_mutex_lock(&starting);
    pthread_mutex_lock(&lock);
    notice->next = notices;
    notices = notice;
    bool starts = !has_thread;
    has_thread = true;
    pthread_mutex_unlock(&lock);
    int error = starts ? start_thread() : 0;
    if (error != 0) {
        pthread_mutex_lock(&lock);
        has_thread = false;
        remove_notice(notice);
        pthread_mutex_unlock(&lock);
        g_free(notice);
    }
    pthread_mutex_unlock(&starting);
    if (error == 0)
        *result = notice;
    return error;
}

void cgrun_notice_free(cgrun_notice *notice)
{
    pthread_mutex_lock(&lock);
    remove_notice(notice);
    pthread_mutex_unlock(&lock);
    g_free(notice);
}

void cgrun_notice_schedule(cgrun_notice *notice, int64_t due)
{
    pthread_mutex_lock(&lock);
    notice->due = due;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

void cgrun_notice_cancel(cgrun_notice *notice)
{
    pthread_mutex_lock(&lock);
    notice->due = INT64_MAX;
    pthread_mutex_unlock(&lock);
}

// MARK: Its text

void cgrun_notice_clear(cgrun_notice *notice) { notice->text.size = 0; }

static void put_byte(Text *text, char byte)
{
    if (text->size < MOST_TEXT)
        text->bytes[text->size++] = byte;
}

void cgrun_notice_put(cgrun_notice *notice, const void *bytes, size_t size)
{
    const char *characters = bytes;
    for (size_t index = 0; index < size; index++) {
        char character = characters[index];
        put_byte(&notice->text, character >= ' ' && character <= '~' ? character : '?');
    }
}

static void put(cgrun_notice *notice, const char *text) { cgrun_notice_put(notice, text, strlen(text)); }

void cgrun_notice_put_number(cgrun_notice *notice, uint64_t number, unsigned base)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    cgrun_notice_put(notice, digits + first, sizeof digits - first);
}

void cgrun_notice_end_line(cgrun_notice *notice) { put_byte(&notice->text, '\n'); }

void cgrun_notice_put_frames(cgrun_notice *notice, const cgrun_sample *sample)
{
    for (unsigned index = 0; index < sample->frame_count; index++) {
        const char *file;
        uintptr_t offset;
        put(notice, "    0x");
        cgrun_notice_put_number(notice, sample->frames[index], 16);
        if (cgrun_loaded_file(sample->frames[index], &file, &offset)) {
            put(notice, " in ");
            put(notice, file);
            put(notice, "+0x");
            cgrun_notice_put_number(notice, offset, 16);
        }
        cgrun_notice_end_line(notice);
    }
}
