// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the fuzzer share. round.c runs one round, main.c runs all rounds.
#ifndef FUZZ_H
#define FUZZ_H

#include <grun/grun.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_VALUES 13
#define MAX_DEPTH 4

// MARK: The table of calls, which generate.py writes

typedef enum {
    KIND_LOOP, KIND_SOURCE, KIND_FD_SOURCE, KIND_SIGNAL_SOURCE, KIND_CHILD_SOURCE, KIND_TIMER, KIND_OBSERVER,
    KIND_IDLE_QUEUE, KIND_CHANNEL, KIND_NOTIFICATION_QUEUE, KIND_PORT, KIND_PORT_MESSAGE, KIND_MESSAGE_PORT,
    KIND_REMOTE_MESSAGE_PORT, KIND_MESSAGE, KIND_THREAD, KIND_CONTEXT,
    KINDS
} Kind;

typedef enum {
    ARGUMENT_OBJECT,
    ARGUMENT_MODE,
    ARGUMENT_MODES,
    ARGUMENT_NAME,
    ARGUMENT_PATH,
    ARGUMENT_FUNCTION,
    ARGUMENT_DATA,
    ARGUMENT_NOTIFY,
    ARGUMENT_ERROR,
    ARGUMENT_BOOLEAN,
    ARGUMENT_INT,
    ARGUMENT_UINT,
    ARGUMENT_INT64,
    ARGUMENT_DATE,
    ARGUMENT_ID,
    ARGUMENT_SECONDS,
    ARGUMENT_DESCRIPTOR,
    ARGUMENT_SIGNAL,
    ARGUMENT_CHILD,
    ARGUMENT_CONDITION,
    ARGUMENT_ACTIVITIES,
    ARGUMENT_MESSAGE,
    ARGUMENT_VALUE,
    ARGUMENT_UNDELIVERED,
    ARGUMENT_SENDER,
    ARGUMENT_CONTENT,
    ARGUMENT_BYTES,
    ARGUMENT_STYLE,
    ARGUMENT_COALESCING,
    ARGUMENT_INDEX,
    ARGUMENT_DESCRIPTORS,
    ARGUMENT_DESCRIPTOR_COUNT,
    ARGUMENT_COUNT_PLACE,
} ArgumentType;

typedef struct {
    const char *name;
    ArgumentType type;
    Kind kind;           // of an object
    GCallback function;  // of a function
    bool is_consumed;    // the call takes the reference
} Argument;

typedef enum {
    RESULT_NONE,
    RESULT_NUMBER,
    RESULT_ID,
    RESULT_TYPE,
    RESULT_NEW,       // an object, with a reference for the caller
    RESULT_FOUND,     // the same, or NULL
    RESULT_BORROWED,  // an object that belongs to somebody else
    RESULT_STRING,
    RESULT_CONSTANT,
    RESULT_STRINGS,
    RESULT_CONTEXTS,
    RESULT_BYTES,
    RESULT_BORROWED_BYTES,
    RESULT_DESCRIPTORS,
} ResultType;

typedef enum { SCOPE_NONE, SCOPE_CALL, SCOPE_ONCE, SCOPE_MANY } Scope;

typedef struct Call Call;

typedef struct {
    const char *name;
    void (*perform)(Call *call);
    Argument arguments[MAX_VALUES];
    unsigned count;
    ResultType result;
    Kind result_kind;
    bool is_reference;            // it adds a reference to its argument
    Scope scope;                  // how long it keeps its function
    bool (*rule)(Call *call);     // see rules.c; false: skip the call
    void (*check)(Call *call);    // what must hold afterwards
} Function;

extern const Function fuzz_functions[];
extern const unsigned fuzz_function_count;

// The texts that the log may have, from docs/c/messages.md. An ellipsis stands for anything.
typedef struct {
    const char *pattern;
    bool is_expected;  // else documented, but the fuzzer cannot cause it
} Message;
extern const Message fuzz_messages[];
extern const char *const fuzz_message_names[];
extern const unsigned fuzz_message_count;

// MARK: Calls

typedef struct Slot Slot;
typedef struct Datum Datum;

typedef struct {
    union {
        gpointer p;
        GCallback f;
        gint64 i;
        gdouble d;
    };
    Slot *slot;  // of an object that the call uses
} Value;

struct Call {
    const Function *function;
    Value values[MAX_VALUES];
    Value result;
    GError *error;
    Datum *datum;
    unsigned criticals;  // that name the function while it was the thread's innermost call
    int wait;            // in the keeper's list, or -1
    unsigned descriptors;  // how many descriptors are sent or received
    Call *outer;
};

// Makes a random call on the calling thread, or a GLib call that serves loops or touches descriptors.
void call_at_random(void);
Call *call_innermost(void);
void call_notice_critical(const char *text);

// MARK: Threads

typedef struct {
    int index;          // of a thread of the round; -1: the library's
    GRunLoop *base;     // its loop outside virtual time
    GRunLoop *virtual_loops[MAX_DEPTH + 2];
    int virtual_count;
    int depth;          // of callbacks on the stack
    bool is_logging;
    struct {
        Kind kind;
        gpointer pointer;
    } lent[16];         // what the callbacks on the stack got as arguments
    int lent_count;
    uint64_t random;
    int record;         // in the record, or -1
} Thread;

Thread *thread_self(void);
bool thread_owns(gpointer loop);

// MARK: The round

#define MAX_STEPS 1200

typedef struct {
    uint64_t seed;
    int threads;             // besides the main one
    bool main_takes_part;
    unsigned steps;
    uint64_t deadline;       // in microseconds: no step begins after it
    const bool *kept_steps;  // NULL: all
} Round;

extern Round the_round;
extern atomic_bool is_over;           // callbacks do nothing from now on
extern atomic_bool is_calm;           // callbacks do nothing for a while, because a step takes too long
extern atomic_int threads_left;       // how many more threads the library may start
extern atomic_bool must_finish[8];    // the round's thread ends at its next step

void round_play(void) G_GNUC_NORETURN;

// MARK: Random values

uint64_t random_mix(uint64_t a, uint64_t b);
uint64_t random_next(void);
unsigned random_below(unsigned limit);
bool random_chance(unsigned percent);

gint64 random_integer(gint64 min, gint64 max);
gdouble random_seconds(void);
gint64 random_date(GRunLoop *loop);
const char *random_mode(void);
const char *random_name(void);
const char *random_path(void);
gpointer random_sender(void);
GBytes *random_bytes(void);
const char *const *random_modes(void);

// MARK: Objects

struct Slot {
    _Atomic uint64_t counts;  // how many references the fuzzer has, and how many calls use the object
    _Atomic(gpointer) pointer;
    _Atomic unsigned label;
    Kind kind;
};

extern const char *const kind_names[KINDS];

Slot *pool_take(Kind kind);              // in use until pool_release()
Slot *pool_take_reference(Kind kind);    // removes a reference; the last one only if nothing uses the object
void pool_release(Slot *slot);
void pool_add_reference(Slot *slot);
void pool_add(Kind kind, gpointer object);  // takes the reference
bool pool_contains(Kind kind, gpointer object);
unsigned pool_count(Kind kind);
void pool_drop_all(void);                // invalidates and releases all objects, at the end
gpointer pool_ref(Kind kind, gpointer object);
void pool_unref(Kind kind, gpointer object);

// MARK: Loops and their owners

typedef enum { OWNER_UNKNOWN, OWNER_MAIN, OWNER_ROUND, OWNER_LIBRARY } Owner;

void owners_add(GRunLoop *loop, Owner owner, int index);
Owner owners_find(gpointer loop, int *index);
void owners_stop_library(void);
void owners_drop_all(void);

// MARK: Descriptors

void descriptors_open(void);
int descriptors_pick(void);
const gint *descriptors_to_send(unsigned *count);  // some open descriptors, or some invalid ones
void descriptors_touch(void);  // writes, reads, closes or opens one
void descriptors_close(void);
unsigned descriptors_count(void);  // of the process
void descriptors_print(void);

// MARK: Signals and children

int signals_pick(void);
void signals_raise(void);
int children_pick(void);  // starts one now and then
void children_end(void);

// MARK: User data

Datum *data_new(const Function *function, bool has_notify);
void data_settle(Datum *datum, bool is_refused);
bool data_has_notify(Datum *datum);
void data_forget(Datum *datum);  // the call did not happen
unsigned data_label(Datum *datum);
unsigned data_calls(Datum *datum);
unsigned data_notified(Datum *datum);
Datum *data_any(void);
void data_check_all(void);
void data_notify(gpointer data);
void data_call(gpointer data);

// MARK: Messages

typedef struct Parcel Parcel;

Parcel *messages_new(void);
/// The same parcel as a value for a channel.
GValue *messages_new_value(void);
/// Notes whether a channel has accepted a message or a value.
void messages_settle(gconstpointer message, bool is_accepted);
void messages_take(gpointer message);
void messages_take_value(GValue *value);
void messages_check_all(void);

// MARK: Contents of port messages

void bytes_make(void);
GBytes *bytes_any(void);
void bytes_check(GBytes *bytes);      // checks that the bytes belong to the fuzzer
void bytes_check_all(void);           // checks that no message still holds bytes
void ports_carry(GRunPort *port);     // notes that a message holds the port; the end invalidates it
void ports_drop_all(void);

// MARK: Host

void host_at_random(void);

// MARK: Ending waits: see keeper.c

typedef enum { WAIT_RUN, WAIT_THREAD, WAIT_ROUND_THREAD, WAIT_HOST } WaitType;

void keeper_start(void);
void keeper_stop(void);
int keeper_begin(WaitType type, gpointer object, int index, unsigned milliseconds);
void keeper_end(int wait);

// MARK: The log

void log_capture(void);

// MARK: The record, which outlives the process

#define RECORDS 64
#define RECORD_ENTRIES 48
#define MAX_FUNCTIONS 512
#define MAX_MESSAGES 128

typedef struct {
    uint16_t function;
    uint8_t depth;
    uint8_t state;  // 1: being called, 2: has returned, 3: a callback, 4: a notify, 5: a thing of GLib's
    uint32_t step;
    uint32_t datum;
    struct {
        char tag;
        Kind kind;
        gint64 number;
        gdouble fraction;
    } values[MAX_VALUES];
} Entry;

typedef struct {
    atomic_int is_used;
    int tid;
    int index;
    uint32_t step;
    atomic_uint count;       // of entries that were ever written
    atomic_uint inside;      // how many calls are on the stack
    Entry entries[RECORD_ENTRIES];
} ThreadRecord;

typedef struct {
    atomic_uint progress;
    atomic_int has_finding;
    char finding[1024];
    int threads;
    int main_takes_part;
    unsigned steps;
    atomic_uint calls[MAX_FUNCTIONS];
    atomic_uint reached[MAX_FUNCTIONS];  // without a critical
    atomic_uint messages[MAX_MESSAGES];
    atomic_uint objects[KINDS];
    atomic_uint callbacks;
    atomic_int used;
    ThreadRecord threads_of[RECORDS];
} Record;

extern Record *record;

unsigned record_begin(Call *call);
void record_end(unsigned entry);
void record_callback(Datum *datum, unsigned state);
void record_host(const char *what);
void record_step(uint32_t step);
void record_print(const Record *record, unsigned most);

// Writes a finding down, and ends the process.
void fuzz_fail(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;

uint64_t now_in_microseconds(void);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#endif
