// SPDX-License-Identifier: Apache-2.0
// Checks GLib's log against docs/c/messages.md, which lists each message. The log handler of this file calls the
// library in turn.
#include "fuzz.h"

#include <string.h>

// Whether the text matches the pattern, in which an ellipsis matches any text.
static bool matches(const char *pattern, const char *text)
{
    static const char gap[] = "\xe2\x80\xa6";
    const char *end = strstr(pattern, gap);
    if (end == NULL)
        return strcmp(pattern, text) == 0;
    if (strncmp(pattern, text, (size_t)(end - pattern)) != 0)
        return false;
    const char *rest = end + strlen(gap);
    for (text += end - pattern;; text++) {
        if (matches(rest, text))
            return true;
        if (*text == '\0')
            return false;
    }
}

static void judge(const char *domain, GLogLevelFlags level, const char *text)
{
    Thread *self = thread_self();
    int found = -1;
    if (g_strcmp0(domain, "GRunLoop") == 0 && (level & G_LOG_LEVEL_ERROR) == 0)
        for (unsigned index = 0; found < 0 && index < fuzz_message_count; index++)
            if (matches(fuzz_messages[index].pattern, text))
                found = (int)index;
    if (found < 0 || !fuzz_messages[found].is_expected)
        fuzz_fail("%s message %s: %s-%s: %s", found < 0 ? "a" : "nothing here causes the",
            found < 0 ? "that is not in docs/c/messages.md" : "", domain != NULL ? domain : "",
            (level & G_LOG_LEVEL_CRITICAL) != 0 ? "CRITICAL" : (level & G_LOG_LEVEL_ERROR) != 0 ? "ERROR" : "WARNING",
            text);
    atomic_fetch_add(&record->messages[found], 1);
    call_notice_critical(text);
    if (self->is_logging || atomic_load(&is_over))
        return;
    // Blocks calls that may log, because GLib ends a process whose log handler logs.
    self->is_logging = true;
    GRunLoop *loop = grun_loop_get_current();
    if (loop != grun_loop_get_main())
        grun_loop_wake_up(loop);
    g_free(grun_loop_to_string(loop));
    self->is_logging = false;
}

static void on_log(const char *domain, GLogLevelFlags level, const char *text, gpointer unused)
{
    (void)unused;
    judge(domain, level, text);
}

static GLogWriterOutput on_structured(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer unused)
{
    (void)unused;
    const char *domain = NULL, *text = "";
    for (gsize index = 0; index < count; index++) {
        if (strcmp(fields[index].key, "GLIB_DOMAIN") == 0)
            domain = fields[index].value;
        if (strcmp(fields[index].key, "MESSAGE") == 0)
            text = fields[index].value;
    }
    judge(domain, level, text);
    return G_LOG_WRITER_HANDLED;
}

void log_capture(void)
{
    g_log_set_default_handler(on_log, NULL);
    g_log_set_writer_func(on_structured, NULL, NULL);
    // No message is fatal, because this file reports a wrong message itself.
    g_log_set_always_fatal(G_LOG_LEVEL_ERROR);
}
