// SPDX-License-Identifier: Apache-2.0
// Calls a function of the C interface with random arguments, and checks and uses its result.
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

static __thread Call *innermost;

Call *call_innermost(void) { return innermost; }

void call_notice_critical(const char *text)
{
    if (innermost == NULL)
        return;
    size_t length = strlen(innermost->function->name);
    if (strncmp(text, innermost->function->name, length) == 0 && text[length] == ':')
        innermost->criticals++;
}

// MARK: Earlier results

enum { IDS = 32 };
static _Atomic gint64 ids[IDS];
static atomic_uint id_count;

static gint64 any_id(void)
{
    static const gint64 odd[] = {0, 1, -1, G_MAXUINT, G_MAXINT64, G_MININT64};
    return random_chance(25) ? odd[random_below(G_N_ELEMENTS(odd))] : atomic_load(&ids[random_below(IDS)]);
}

// MARK: Arguments

static gpointer lent(Kind kind)
{
    Thread *self = thread_self();
    unsigned count = 0;
    gpointer found = NULL;
    for (int index = 0; index < self->lent_count; index++)
        if (self->lent[index].kind == kind && random_below(++count) == 0)
            found = self->lent[index].pointer;
    return found;
}

static void take_object(Value *value, const Argument *argument)
{
    Kind kind = argument->kind;
    if (argument->is_consumed) {
        value->slot = random_chance(4) ? NULL : pool_take_reference(kind);
        value->p = value->slot != NULL ? atomic_load(&value->slot->pointer) : NULL;
        return;
    }
    if (random_chance(5))
        return;
    if (kind == KIND_LOOP && random_chance(50)) {
        value->p = random_chance(85) ? grun_loop_get_current() : grun_loop_get_main();
        return;
    }
    if (kind == KIND_CONTEXT && random_chance(10)) {
        value->p = g_main_context_default();
        return;
    }
    if (random_chance(30))
        value->p = lent(kind);
    if (value->p != NULL)
        return;
    value->slot = pool_take(kind);
    if (value->slot != NULL)
        value->p = atomic_load(&value->slot->pointer);
    else if (kind == KIND_LOOP)
        value->p = grun_loop_get_current();
}

static bool takes_notify(const Function *function)
{
    for (unsigned index = 0; index < function->count; index++)
        if (function->arguments[index].type == ARGUMENT_NOTIFY)
            return true;
    return false;
}

static void take(Call *call, unsigned index)
{
    const Argument *argument = &call->function->arguments[index];
    Value *value = &call->values[index];
    switch (argument->type) {
    case ARGUMENT_OBJECT:
        take_object(value, argument);
        break;
    case ARGUMENT_MODE:
        value->p = (gpointer)random_mode();
        break;
    case ARGUMENT_MODES:
        value->p = (gpointer)random_modes();
        break;
    case ARGUMENT_NAME:
        value->p = (gpointer)random_name();
        break;
    case ARGUMENT_PATH:
        value->p = (gpointer)random_path();
        break;
    case ARGUMENT_FUNCTION:
        // Without this function, lost values would go unnoticed.
        value->f = random_chance(6) && strcmp(argument->name, "undelivered") != 0 ? NULL : argument->function;
        break;
    case ARGUMENT_DATA:
        if (call->function->scope == SCOPE_NONE)
            call->datum = NULL, value->p = data_any();
        else
            value->p = call->datum =
                random_chance(4) ? NULL : data_new(call->function, takes_notify(call->function) && random_chance(80));
        break;
    case ARGUMENT_NOTIFY:
        // Without data, a notify cannot be attributed to a call.
        if (call->datum == NULL || data_has_notify(call->datum))
            value->f = (GCallback)data_notify;
        break;
    case ARGUMENT_MESSAGE:
        value->p = random_chance(4) ? NULL : messages_new();
        break;
    case ARGUMENT_VALUE:
        value->p = random_chance(4) ? NULL : messages_new_value();
        break;
    case ARGUMENT_SENDER:
        value->p = random_sender();
        break;
    case ARGUMENT_CONTENT:
        value->p = random_chance(30) ? NULL : random_bytes();
        break;
    case ARGUMENT_STYLE:
        value->i = random_chance(90) ? (gint64)random_below(3) + 1 : (gint64)(guint32)random_next() >> random_below(32);
        break;
    case ARGUMENT_COALESCING:
        value->i = random_chance(90) ? (gint64)random_below(4) : (gint64)(guint32)random_next() >> random_below(32);
        break;
    case ARGUMENT_UNDELIVERED:
        value->f = (GCallback)messages_take;
        break;
    case ARGUMENT_INDEX:
        value->i = random_chance(80) ? random_below(4) : random_integer(0, G_MAXUINT);
        break;
    case ARGUMENT_BYTES:
        value->p = bytes_any();
        break;
    case ARGUMENT_DESCRIPTORS:
        call->descriptors = 0;
        value->p = random_chance(60) ? NULL : (gpointer)descriptors_to_send(&call->descriptors);
        break;
    case ARGUMENT_DESCRIPTOR_COUNT:
        value->i = call->descriptors;
        if (random_chance(5))
            value->i = call->values[index - 1].p == NULL ? 1 : random_integer(call->descriptors, G_MAXUINT);
        break;
    case ARGUMENT_COUNT_PLACE:
        value->p = random_chance(20) ? NULL : &call->descriptors;
        break;
    case ARGUMENT_ERROR:
        if (random_chance(10))
            call->error = g_error_new_literal(GRUN_ERROR, GRUN_ERROR_SYSTEM, "set before");
        value->p = random_chance(40) ? NULL : &call->error;
        break;
    case ARGUMENT_BOOLEAN:
        value->i = random_chance(10) ? random_integer(G_MININT, G_MAXINT) : (gint64)random_below(2);
        break;
    case ARGUMENT_INT:
        value->i = random_integer(G_MININT, G_MAXINT);
        break;
    case ARGUMENT_UINT:
        value->i = random_integer(0, G_MAXUINT);
        break;
    case ARGUMENT_INT64:
        value->i = random_chance(70) ? (gint64)random_below(3000) : random_integer(G_MININT64, G_MAXINT64);
        break;
    case ARGUMENT_DATE:
        value->i = random_date(index > 0 && call->function->arguments[0].kind == KIND_LOOP ? call->values[0].p : NULL);
        break;
    case ARGUMENT_ID:
        value->i = any_id();
        break;
    case ARGUMENT_SECONDS:
        value->d = random_seconds();
        break;
    case ARGUMENT_DESCRIPTOR:
        value->i = descriptors_pick();
        break;
    case ARGUMENT_SIGNAL:
        value->i = signals_pick();
        break;
    case ARGUMENT_CHILD:
        value->i = children_pick();
        break;
    case ARGUMENT_CONDITION:
        value->i = random_chance(70)
            ? (gint64[]){G_IO_IN, G_IO_OUT, G_IO_PRI, G_IO_IN | G_IO_OUT, G_IO_HUP}[random_below(5)]
            : (gint64)(guint32)random_next() >> random_below(32);
        break;
    case ARGUMENT_ACTIVITIES:
        value->i = random_chance(60) ? GRUN_ACTIVITY_ALL : (gint64)(guint32)random_next() >> random_below(32);
        break;
    }
}

// MARK: Results

static void keep(Kind kind, gpointer object)
{
    if (!pool_contains(kind, object))
        pool_add(kind, pool_ref(kind, object));
}

static void use_result(Call *call)
{
    const Function *function = call->function;
    gpointer pointer = call->result.p;
    switch (function->result) {
    case RESULT_NONE:
    case RESULT_NUMBER:
        break;
    case RESULT_ID:
        if (call->result.i != 0)
            atomic_store(&ids[atomic_fetch_add(&id_count, 1) % IDS], call->result.i);
        break;
    case RESULT_TYPE:
        if (call->result.i == 0 || g_type_name((GType)call->result.i) == NULL)
            fuzz_fail("%s returns no type", function->name);
        break;
    case RESULT_NEW:
        if (function->is_reference) {
            if (pointer != call->values[0].p)
                fuzz_fail("%s returns another object than it was given", function->name);
            if (pointer != NULL && call->values[0].slot != NULL)
                pool_add_reference(call->values[0].slot);
            else if (pointer != NULL)
                pool_add(function->result_kind, pointer);
        } else if (pointer != NULL) {
            atomic_fetch_add(&record->objects[function->result_kind], 1);
            if (function->result_kind == KIND_THREAD)
                owners_add(grun_thread_get_loop(pointer), OWNER_LIBRARY, -1);
            pool_add(function->result_kind, pointer);
        } else if (call->criticals == 0 && call->error == NULL &&
            function->arguments[function->count - 1].type != ARGUMENT_ERROR) {
            fuzz_fail("%s returns NULL, and sets no error", function->name);
        }
        break;
    case RESULT_FOUND:
        if (pointer != NULL)
            pool_add(function->result_kind, pointer);
        break;
    case RESULT_BYTES:
        if (pointer != NULL)
            g_bytes_unref(pointer);
        break;
    case RESULT_BORROWED_BYTES:
        // Checks that the bytes are readable up to the last one.
        if (pointer != NULL) {
            g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_MD5, pointer);
        }
        break;
    case RESULT_DESCRIPTORS:
        for (const gint *each = pointer; each != NULL && *each >= 0; each++)
            close(*each);
        g_free(pointer);
        break;
    case RESULT_BORROWED:
        // A context of another thread's loop may be freed at any time.
        if (pointer != NULL && random_chance(50) &&
            (function->result_kind == KIND_LOOP || owners_find(call->values[0].p, NULL) == OWNER_MAIN ||
                thread_owns(call->values[0].p)))
            keep(function->result_kind, pointer);
        break;
    case RESULT_STRING:
        if (pointer != NULL && !g_utf8_validate(pointer, -1, NULL))
            fuzz_fail("%s returns a string that is not UTF-8", function->name);
        g_free(pointer);
        break;
    case RESULT_CONSTANT:
        if (pointer != NULL && !g_utf8_validate(pointer, -1, NULL))
            fuzz_fail("%s returns a string that is not UTF-8", function->name);
        break;
    case RESULT_STRINGS:
        for (char **each = pointer; each != NULL && *each != NULL; each++)
            if (!g_utf8_validate(*each, -1, NULL))
                fuzz_fail("%s returns a string that is not UTF-8", function->name);
        g_strfreev(pointer);
        break;
    case RESULT_CONTEXTS:
        if (pointer != NULL) {
            GPtrArray *array = pointer;
            for (guint index = 0; index < array->len; index++)
                if (random_chance(30))
                    keep(KIND_CONTEXT, array->pdata[index]);
            g_ptr_array_unref(array);
        }
        break;
    }
}

// These functions fail without an error if they do nothing: for an invalid item, or on a loop that has ended.
static const char *const silent_functions[] = {"grun_loop_add_fd_source", "grun_loop_add_signal_source",
    "grun_loop_add_child_source", "grun_loop_add_message_port", "grun_loop_push_ambient_mode", NULL};

// A function sets an error exactly if it fails. Misuse causes a critical instead.
static void judge_error(Call *call)
{
    const Function *function = call->function;
    for (unsigned index = 0; index < function->count; index++) {
        if (function->arguments[index].type != ARGUMENT_ERROR)
            continue;
        bool has_failed = call->result.i == 0;
        gpointer place = call->values[index].p;
        bool is_silent = has_failed && call->error == NULL && g_strv_contains(silent_functions, function->name);
        if (place != NULL && call->criticals == 0 && has_failed != (call->error != NULL) && !is_silent)
            fuzz_fail("%s has %s, and there is %s error: %s", function->name, has_failed ? "failed" : "not failed",
                call->error != NULL ? "an" : "no", call->error != NULL ? call->error->message : "");
        if (place != NULL && call->criticals == 0 && call->error != NULL && call->error->domain != GRUN_ERROR &&
            call->error->domain != GRUN_MESSAGE_REQUEST_ERROR)
            fuzz_fail("%s: an error of another domain", function->name);
    }
    g_clear_error(&call->error);
}

static bool has_failed(const Call *call)
{
    switch (call->function->result) {
    case RESULT_NEW:
        return call->result.p == NULL;
    case RESULT_ID:
    case RESULT_NUMBER:
        return call->result.i == 0 && call->function->scope != SCOPE_NONE;
    default:
        return false;
    }
}

static void perform(const Function *function)
{
    Call call = {.function = function, .wait = -1, .outer = innermost};
    innermost = &call;
    for (unsigned index = 0; index < function->count; index++)
        take(&call, index);
    bool is_called = function->rule == NULL || function->rule(&call);
    if (is_called) {
        unsigned entry = record_begin(&call);
        function->perform(&call);
        record_end(entry);
        keeper_end(call.wait);
        atomic_fetch_add(&record->calls[function - fuzz_functions], 1);
        if (call.criticals == 0)
            atomic_fetch_add(&record->reached[function - fuzz_functions], 1);
        judge_error(&call);
        if (function->scope != SCOPE_NONE)
            data_settle(call.datum, call.criticals > 0 || has_failed(&call));
        if (function->check != NULL)
            function->check(&call);
        use_result(&call);
    } else {
        g_clear_error(&call.error);
        if (call.datum != NULL)
            data_forget(call.datum);
    }
    for (unsigned index = 0; index < function->count; index++) {
        if (function->arguments[index].is_consumed && call.values[index].slot != NULL && !is_called)
            pool_add_reference(call.values[index].slot);
        pool_release(call.values[index].slot);
    }
    innermost = call.outer;
}

// Finds a function that makes an object of a rare kind.
static const Function *maker(Kind kind)
{
    const Function *found = NULL;
    unsigned count = 0;
    for (unsigned index = 0; index < fuzz_function_count; index++) {
        const Function *function = &fuzz_functions[index];
        if (function->result == RESULT_NEW && !function->is_reference && function->result_kind == kind &&
            random_below(++count) == 0)
            found = function;
    }
    return found;
}

void call_at_random(void)
{
    if (atomic_load(&is_over))
        return;
    if (random_chance(12)) {
        host_at_random();
        return;
    }
    const Function *function = NULL;
    if (random_chance(15)) {
        Kind kind = random_below(KINDS);
        if (pool_count(kind) < 5)
            function = maker(kind);
    }
    perform(function != NULL ? function : &fuzz_functions[random_below(fuzz_function_count)]);
}
