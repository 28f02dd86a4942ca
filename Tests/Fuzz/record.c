// SPDX-License-Identifier: Apache-2.0
// The latest calls of every thread, in memory shared with the watching process, so that they survive a crash.
#include "fuzz.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

Record *record;

static ThreadRecord *mine(void)
{
    Thread *self = thread_self();
    if (self->record < 0) {
        self->record = atomic_fetch_add(&record->used, 1) % RECORDS;
        ThreadRecord *thread = &record->threads_of[self->record];
        atomic_store(&thread->count, 0);
        atomic_store(&thread->inside, 0);
        thread->tid = (int)syscall(SYS_gettid);
        thread->index = self->index;
        atomic_store(&thread->is_used, 1);
    }
    return &record->threads_of[self->record];
}

static Entry *add(ThreadRecord *thread, unsigned state)
{
    Entry *entry = &thread->entries[atomic_load(&thread->count) % RECORD_ENTRIES];
    memset(entry, 0, sizeof *entry);
    entry->state = (uint8_t)state;
    entry->depth = (uint8_t)thread_self()->depth;
    entry->step = thread->step;
    atomic_fetch_add(&thread->count, 1);
    atomic_fetch_add(&record->progress, 1);
    return entry;
}

static void write_value(Entry *entry, const Call *call, unsigned index)
{
    const Argument *argument = &call->function->arguments[index];
    const Value *value = &call->values[index];
    switch (argument->type) {
    case ARGUMENT_OBJECT:
        entry->values[index].kind = argument->kind;
        if (value->p == NULL) {
            entry->values[index].tag = '0';
        } else if (value->slot != NULL) {
            entry->values[index].tag = 'o';
            entry->values[index].number = atomic_load(&value->slot->label);
        } else {
            entry->values[index].tag = argument->kind == KIND_LOOP && thread_owns(value->p) ? 'c' : 'l';
        }
        break;
    case ARGUMENT_MODE:
    case ARGUMENT_NAME:
    case ARGUMENT_PATH:
        entry->values[index].tag = value->p == NULL ? '0' : 's';
        // Records the first bytes.
        if (value->p != NULL)
            strncpy((char *)&entry->values[index].number, value->p, sizeof(gint64));
        break;
    case ARGUMENT_MODES:
    case ARGUMENT_FUNCTION:
    case ARGUMENT_NOTIFY:
    case ARGUMENT_MESSAGE:
    case ARGUMENT_VALUE:
    case ARGUMENT_SENDER:
    case ARGUMENT_CONTENT:
    case ARGUMENT_BYTES:
    case ARGUMENT_UNDELIVERED:
    case ARGUMENT_ERROR:
        entry->values[index].tag = value->p == NULL ? '0' : 'p';
        break;
    case ARGUMENT_DATA:
        entry->values[index].tag = value->p == NULL ? '0' : 'd';
        entry->values[index].number = data_label(value->p);
        break;
    case ARGUMENT_SECONDS:
        entry->values[index].tag = 'f';
        entry->values[index].fraction = value->d;
        break;
    default:
        entry->values[index].tag = 'i';
        entry->values[index].number = value->i;
    }
}

unsigned record_begin(Call *call)
{
    ThreadRecord *thread = mine();
    Entry *entry = add(thread, 1);
    entry->function = (uint16_t)(call->function - fuzz_functions);
    for (unsigned index = 0; index < call->function->count; index++)
        write_value(entry, call, index);
    atomic_fetch_add(&thread->inside, 1);
    return atomic_load(&thread->count) - 1;
}

void record_end(unsigned number)
{
    ThreadRecord *thread = mine();
    if (atomic_load(&thread->count) - number <= RECORD_ENTRIES)
        thread->entries[number % RECORD_ENTRIES].state = 2;
    atomic_fetch_sub(&thread->inside, 1);
    atomic_fetch_add(&record->progress, 1);
}

void record_callback(Datum *datum, unsigned state)
{
    Entry *entry = add(mine(), state);
    entry->datum = data_label(datum);
    atomic_fetch_add(&record->callbacks, state == 3);
}

void record_host(const char *what)
{
    Entry *entry = add(mine(), 5);
    // Stores the text in pieces, because the pointer means nothing in another process.
    strncpy((char *)entry->values, what, sizeof entry->values - 1);
}

void record_step(uint32_t step)
{
    ThreadRecord *thread = mine();
    thread->step = step;
}

// MARK: Text for reports

static void print_value(const Entry *entry, const Argument *argument, unsigned index)
{
    switch (entry->values[index].tag) {
    case '0':
        fprintf(stderr, "NULL");
        break;
    case 'o':
        fprintf(stderr, "%s#%d", kind_names[entry->values[index].kind], (int)entry->values[index].number);
        break;
    case 'c':
        fprintf(stderr, "own loop");
        break;
    case 'l':
        fprintf(stderr, "%s", argument->kind == KIND_LOOP ? "other loop" : "the callback's");
        break;
    case 's': {
        char *text = g_strndup((const char *)&entry->values[index].number, sizeof(gint64)),
             *escaped = g_strescape(text, NULL);
        fprintf(stderr, "\"%s%s\"", escaped, strlen(text) == sizeof(gint64) ? "..." : "");
        g_free(text);
        g_free(escaped);
        break;
    }
    case 'p':
        fprintf(stderr, "%s", argument->name);
        break;
    case 'd':
        fprintf(stderr, "data#%d", (int)entry->values[index].number);
        break;
    case 'f':
        fprintf(stderr, "%g", entry->values[index].fraction);
        break;
    default:
        fprintf(stderr, "%" G_GINT64_FORMAT, entry->values[index].number);
    }
}

static void print_entry(const Entry *entry)
{
    fprintf(stderr, "    step %3u %*s", entry->step, 2 * entry->depth, "");
    switch (entry->state) {
    case 3:
        fprintf(stderr, "callback with data#%u\n", entry->datum);
        return;
    case 4:
        fprintf(stderr, "notify of data#%u\n", entry->datum);
        return;
    case 5:
        fprintf(stderr, "%s\n", (const char *)entry->values);
        return;
    }
    const Function *function = &fuzz_functions[entry->function];
    fprintf(stderr, "%s (", function->name);
    for (unsigned index = 0; index < function->count; index++) {
        fprintf(stderr, index > 0 ? ", " : "");
        print_value(entry, &function->arguments[index], index);
    }
    fprintf(stderr, ")%s\n", entry->state == 1 ? "  <- has not returned" : "");
}

void record_print(const Record *of, unsigned most)
{
    for (int at = 0; at < RECORDS; at++) {
        const ThreadRecord *thread = &of->threads_of[at];
        if (!atomic_load(&thread->is_used))
            continue;
        unsigned count = atomic_load(&thread->count), first = count > RECORD_ENTRIES ? count - RECORD_ENTRIES : 0;
        if (thread->index < 0)
            fprintf(stderr, "  a thread of the library's, %d: %u entries\n", thread->tid, count);
        else
            fprintf(stderr, "  thread %d, %d: %u entries\n", thread->index, thread->tid, count);
        for (unsigned number = count > most && count - most > first ? count - most : first; number < count; number++)
            print_entry(&thread->entries[number % RECORD_ENTRIES]);
    }
}

// MARK: Differences

void fuzz_fail(const char *format, ...)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&record->has_finding, &none, 1)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(record->finding, sizeof record->finding, format, arguments);
        va_end(arguments);
        fprintf(stderr, "fuzz: %s\n", record->finding);
    }
    _exit(3);
}
