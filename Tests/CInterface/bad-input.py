# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that calls every function of <grun/grun.h> with each bad value of each argument in turn:
bad-input.py GRun-1.0.gir > bad-input.c

The bad values follow from the types and from what the header says about an argument ((nullable), the current thread's
loop). The program fails if it crashes, or if a call does not log exactly the expected g_critical(), which names the
function.
"""
import sys
import xml.etree.ElementTree as tree

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"

# A good value of each type: an expression that uses the members of `struct Good`.
OBJECTS = {
    "GRunLoop*": "good.loop",
    "GRunSource*": "good.source",
    "GRunFdSource*": "good.fd_source",
    "GRunSignalSource*": "good.signal_source",
    "GRunChildSource*": "good.child_source",
    "GRunTimer*": "good.timer",
    "GRunObserver*": "good.observer",
    "GRunIdleQueue*": "good.idle_queue",
    "GRunChannel*": "good.channel",
    "GRunNotificationQueue*": "good.notification_queue",
    "GRunPort*": "good.port",
    "GRunPortMessage*": "good.port_message",
    "GRunMessagePort*": "good.message_port",
    "GRunRemoteMessagePort*": "good.remote_message_port",
    "GRunMessage*": "good.message",
    "GRunThread*": "good.thread",
}
GOOD = OBJECTS | {
    "GMainContext*": "good.context",
    "GError**": "&good.error",
    "gpointer": "NULL",
    "GDestroyNotify": "NULL",
    "GRunFunc": "on_call",
    "GRunStallFunc": "on_stall",
    "GRunSourceFunc": "on_source",
    "GRunScheduleFunc": "on_schedule",
    "GRunFdSourceFunc": "on_fd_source",
    "GRunSignalSourceFunc": "on_signal_source",
    "GRunChildSourceFunc": "on_child_source",
    "GRunTimerFunc": "on_timer",
    "GRunObserverFunc": "on_observer",
    "GRunChannelFunc": "on_message",
    "GRunChannelValueFunc": "on_value",
    "const GValue*": "&good_value",
    "GRunNotificationFunc": "on_notification",
    "GRunPortFunc": "on_port_message",
    "GRunPortInvalidationFunc": "on_port_end",
    "GRunMessagePortInvalidationFunc": "on_message_port_end",
    "GRunRemoteMessagePortInvalidationFunc": "on_remote_message_port_end",
    "GBytes*": "good.bytes",
    "GRunMessagePortFunc": "on_sent_message",
    "GRunMessageReplyingFunc": "on_question",
    "GRunReplyFunc": "on_reply",
    "const gint*": "good_fds",
    "guint*": "&good.count",
    "gint32": "1",
    "GRunThreadSetUpFunc": "on_loop",
    "GRunVirtualTimeFunc": "on_loop",
    "const char*": '"bad"',
    "const char* const*": "good_modes",
    "GIOCondition": "G_IO_IN",
    "GRunActivity": "GRUN_ACTIVITY_ALL",
    "GRunPostingStyle": "GRUN_POSTING_STYLE_ASAP",
    "GRunCoalescing": "GRUN_COALESCING_NONE",
    "gboolean": "FALSE",
    "gint": "1",
    "guint": "1",
    "gint64": "1",
    "guint64": "1",
    "guint32": "1",
    "gdouble": "0.0",
}
# Bad values of each type, and how many criticals each causes. None means zero or one.
NUMBERS = {
    "gdouble": [("NAN", 1)] + [
        (value, 0) for value in ("INFINITY", "-INFINITY", "DBL_MAX", "-DBL_MAX", "DBL_MIN", "-1.0")
    ],
    "gint64": [("G_MAXINT64", 0), ("G_MININT64", 0), ("0", 0), ("-1", 0)],
    "guint64": [("G_MAXUINT64", 0), ("0", 0)],
    "guint32": [("G_MAXUINT32", 0), ("0", 0)],
    "gint32": [("G_MAXINT32", 0), ("G_MININT32", 0), ("0", 0)],
    "gint": [("G_MAXINT", 0), ("G_MININT", None), ("0", 0), ("-1", None)],
    "guint": [("G_MAXUINT", None), ("0", None)],
    "gboolean": [("-1", 0), ("2", 0)],
    "GIOCondition": [("0", 0), ("(GIOCondition)-1", 0)],
    "GRunActivity": [("0", 0), ("(GRunActivity)-1", 0)],
    "GRunPostingStyle": [("0", 1), ("4", 1), ("(GRunPostingStyle)-1", 1)],
    "GRunCoalescing": [("4", 0), ("(GRunCoalescing)-1", 0)],
}
SYMBOLS = {"GRunSource*": "source", "GRunFdSource*": "fd_source", "GRunSignalSource*": "signal_source",
           "GRunChildSource*": "child_source", "GRunTimer*": "timer", "GRunObserver*": "observer",
           "GRunIdleQueue*": "idle_queue", "GRunPort*": "port", "GRunMessagePort*": "message_port",
           "GRunRemoteMessagePort*": "remote_message_port"}
RELEASES = {"char*": "g_free", "char**": "g_strfreev", "GPtrArray*": "g_clear_array", "GBytes*": "g_bytes_unref",
            "gint*": "g_free", "GRunMessage*": "grun_message_unref"} | {
    kind: "grun_%s_unref" % symbol
    for kind, symbol in [*SYMBOLS.items(), ("GRunThread*", "thread"), ("GRunChannel*", "channel"),
                         ("GRunNotificationQueue*", "notification_queue"), ("GRunPortMessage*", "port_message")]
}


class Argument:
    def __init__(self, node):
        kind = node.find(CORE + "type")
        if kind is None:
            kind = node.find(CORE + "array")
        self.name = node.get("name")
        self.type = kind.get(C + "type").replace(" *", "*") if kind is not None else "gpointer"
        doc = node.find(CORE + "doc")
        self.doc = doc.text if doc is not None else ""
        is_nullable = "1" in (node.get("nullable"), node.get("optional"))
        self.nullable = is_nullable or self.type in ("gpointer", "GDestroyNotify")


def functions(root):
    for node in root.iter():
        if node.tag in (CORE + "function", CORE + "method", CORE + "constructor"):
            arguments = []
            if node.get("throws") == "1":
                arguments = [None]
            parameters = node.find(CORE + "parameters")
            nodes = list(parameters) if parameters is not None else []
            yield node, [Argument(each) for each in nodes], bool(arguments)


def cases(arguments, index):
    """Yields the bad values of an argument: C text, number of criticals, preparation, replacements of other
    arguments."""
    argument = arguments[index]
    kind = argument.type
    is_mode = argument.name == "mode"
    if kind in NUMBERS:
        yield from ((value, count, "", {}) for value, count in NUMBERS[kind])
        return
    if kind != "const gint*":
        yield "NULL", 0 if argument.nullable else 1, "", {}
    # A channel without a receiver is refused in every mode.
    good = None if any(each.type == "GRunChannel*" for each in arguments) else 0
    if argument.name == "path":
        yield from (('"/"', 0, "", {}), ('"/no/such/file"', 0, "", {}), ('""', 0, "", {}), ('"/dev/full"', 0, "", {}))
    elif kind == "const char*":
        yield '"\\xff\\xfe"', 1, "", {}
        yield '""', 1 if is_mode else 0, "", {}
        yield "long_name", good, "", {}
        if is_mode:
            yield "GRUN_MODE_COMMON", 1 if "not %GRUN_MODE_COMMON" in argument.doc else good, "", {}
    elif kind == "const char* const*":
        yield "empty_modes", 0, "", {}
        yield "broken_modes", 1, "", {}
    elif kind == "GRunLoop*":
        needs_own = argument.doc.startswith("the current thread's loop")
        # The other loop must run in this mode, because a caller that waits for it would otherwise wait forever.
        yield "good.other_loop", 1 if needs_own else None, "", {"mode": "GRUN_MODE_DEFAULT"}
        yield "good.ended_loop", None, "", {}
    elif kind == "GRunChannel*":
        others = [each for each in arguments if each.type == "GRunLoop*"]
        yield GOOD[kind], None, "grun_channel_invalidate (%s);" % GOOD[kind], {}
        if others:
            receive = "grun_channel_receive (%s, good.other_loop, GRUN_MODE_DEFAULT, on_message, NULL, NULL);"
            yield GOOD[kind], None, receive % GOOD[kind], {}
    elif kind in SYMBOLS:
        symbol = SYMBOLS[kind]
        yield GOOD[kind], 0, "grun_%s_invalidate (%s);" % (symbol, GOOD[kind]), {}
        kept_by_itself = kind in ("GRunSource*", "GRunRemoteMessagePort*")
        if any(each.type == "GRunLoop*" for each in arguments) and not kept_by_itself:
            # The item is already in another loop.
            error = ", NULL" if symbol.endswith(("_source", "message_port")) else ""
            add = "grun_loop_add_%s (good.other_loop, %s, GRUN_MODE_DEFAULT%s);" % (symbol, GOOD[kind], error)
            yield GOOD[kind], "other", add, {}
    elif kind == "const GValue*":
        yield "&unset_value", 1, "", {}
    elif kind == "const gint*":
        # NULL is not an array of the given length.
        yield "NULL", 1, "", {}
    elif kind == "GError**":
        yield "&set_error", 1, "", {}


# The directory for the names of message ports belongs to the program and is removed at its end.
DIRECTORY = """
static char directory[] = "/tmp/grun-check-XXXXXX";

static void make_directory(void)
{
    if (mkdtemp(directory) == NULL)
        abort();
    g_setenv("XDG_RUNTIME_DIR", directory, TRUE);
}

static void remove_directory(void)
{
    char *folder = g_build_filename(directory, "grun-ports", NULL);
    GDir *names = g_dir_open(folder, 0, NULL);
    for (const char *name; names != NULL && (name = g_dir_read_name(names)) != NULL;) {
        char *path = g_build_filename(folder, name, NULL);
        unlink(path);
        g_free(path);
    }
    g_clear_pointer(&names, g_dir_close);
    rmdir(folder);
    rmdir(directory);
    g_free(folder);
}
"""

HEAD = """// Written by bad-input.py.
#include <float.h>
#include <grun/grun.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

static void on_call(gpointer data) { (void)data; }
static void on_stall(GRunLoop *loop, const char *report, gdouble seconds, gboolean is_over, gpointer data)
{
    (void)loop; (void)report; (void)seconds; (void)is_over; (void)data;
}
static gboolean on_source(GRunSource *source, gpointer data) { (void)source; (void)data; return TRUE; }
static void on_schedule(GRunSource *source, GRunLoop *loop, const char *mode, gpointer data)
{
    (void)source; (void)loop; (void)mode; (void)data;
}
static gboolean on_fd_source(GRunFdSource *source, GIOCondition found, gpointer data)
{
    (void)source; (void)found; (void)data;
    return TRUE;
}
static gboolean on_signal_source(GRunSignalSource *source, guint64 count, gpointer data)
{
    (void)source; (void)count; (void)data;
    return TRUE;
}
static void on_child_source(GRunChildSource *source, gint status, const GError *error, gpointer data)
{
    (void)source; (void)status; (void)error; (void)data;
}
static gboolean on_timer(GRunTimer *timer, gpointer data) { (void)timer; (void)data; return TRUE; }
static gboolean on_observer(GRunObserver *observer, GRunActivity activity, gpointer data)
{
    (void)observer; (void)activity; (void)data;
    return TRUE;
}
static void on_message(gpointer message, gpointer data) { (void)message; (void)data; }
static void on_value(GValue *value, gpointer data) { (void)value; (void)data; }
static void on_port_end(GRunPort *port, gpointer data) { (void)port; (void)data; }
static void on_message_port_end(GRunMessagePort *port, gpointer data) { (void)port; (void)data; }
static void on_remote_message_port_end(GRunRemoteMessagePort *port, gpointer data) { (void)port; (void)data; }
static void on_notification(const char *name, gpointer sender, GBytes *bytes, gpointer data)
{
    (void)name; (void)sender; (void)bytes; (void)data;
}
static void on_port_message(GRunPortMessage *message, gpointer data) { (void)message; (void)data; }
static GRunMessage *came;
static void on_sent_message(GRunMessagePort *port, GRunMessage *message, gpointer data)
{
    (void)port; (void)data;
    came = grun_message_ref(message);
}
static GBytes *on_question(GRunMessagePort *port, GRunMessage *message, gpointer data)
{
    (void)port; (void)message; (void)data;
    return NULL;
}
static void on_reply(GRunRemoteMessagePort *port, GRunMessage *reply, const GError *error, gpointer data)
{
    (void)port; (void)reply; (void)error; (void)data;
}
static void on_loop(GRunLoop *loop, gpointer data) { (void)loop; (void)data; }
static inline void g_clear_array(GPtrArray *array) { if (array) g_ptr_array_unref(array); }

static const char *good_modes[] = {"bad", "worse", NULL};
static const char *empty_modes[] = {NULL};
static const char *broken_modes[] = {"bad", "\\xff\\xfe", NULL};
// Closed descriptors, and more than one message can carry.
static const gint good_fds[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
static char *long_name;
static GError *set_error;
static GValue good_value, unset_value;
static GRunThread *other, *ended;
static int descriptor;
static pid_t child;

// Each call gets fresh values, so that a broken value does not affect the next call.
typedef struct {
    GRunLoop *loop, *other_loop, *ended_loop;
    GRunSource *source;
    GRunFdSource *fd_source;
    GRunSignalSource *signal_source;
    GRunChildSource *child_source;
    GRunTimer *timer;
    GRunObserver *observer;
    GRunIdleQueue *idle_queue;
    GRunChannel *channel;
    GRunNotificationQueue *notification_queue;
    GRunPort *port;
    GRunPortMessage *port_message;
    GRunMessagePort *message_port;
    GRunRemoteMessagePort *remote_message_port;
    GRunMessage *message;
    GBytes *bytes;
    GRunThread *thread;
    GMainContext *context;
    GError *error;
    guint count;
} Good;

static Good make(void)
{
    Good good = {.loop = grun_loop_get_current()};
    good.other_loop = grun_thread_get_loop(other);
    good.ended_loop = grun_thread_get_loop(ended);
    good.source = grun_source_new(0, on_source, NULL, NULL);
    good.fd_source = grun_fd_source_new(descriptor, G_IO_PRI, on_fd_source, NULL, NULL);
    good.signal_source = grun_signal_source_new(SIGURG, FALSE, on_signal_source, NULL, NULL, NULL);
    good.child_source = grun_child_source_new(child, on_child_source, NULL, NULL, NULL);
    good.timer = grun_timer_new(3600, TRUE, on_timer, NULL, NULL);
    good.observer = grun_observer_new(GRUN_ACTIVITY_EXIT, TRUE, 0, on_observer, NULL, NULL);
    good.idle_queue = grun_idle_queue_new(0);
    good.channel = grun_channel_new(1, NULL);
    good.notification_queue = grun_notification_queue_new(good.loop);
    good.port = grun_port_new(1, on_port_message, NULL, NULL);
    good.bytes = g_bytes_new("bytes", 5);
    good.port_message = grun_port_message_new(1);
    grun_port_message_add_bytes(good.port_message, good.bytes);
    grun_port_message_add_port(good.port_message, good.port);
    // A message whose sender waits for a reply.
    good.message_port = grun_message_port_new("good", on_sent_message, NULL, NULL, NULL);
    good.remote_message_port = grun_remote_message_port_look_up("good", NULL);
    grun_loop_add_message_port(good.loop, good.message_port, "good", NULL);
    grun_remote_message_port_request(good.remote_message_port, 1, NULL, NULL, 0, 0, 0, "good", NULL);
    while (came == NULL)
        grun_loop_run_in_mode(good.loop, "good", 1, TRUE);
    good.message = g_steal_pointer(&came);
    grun_loop_remove_message_port(good.loop, good.message_port, "good");
    // The thread is stopped, so that joining it does not block.
    good.thread = grun_thread_new("bad", NULL, NULL, NULL);
    grun_thread_stop(good.thread);
    good.context = g_main_context_new();
    return good;
}

static void drop(Good *good)
{
    grun_source_invalidate(good->source);
    grun_source_unref(good->source);
    grun_fd_source_invalidate(good->fd_source);
    grun_fd_source_unref(good->fd_source);
    grun_signal_source_invalidate(good->signal_source);
    grun_signal_source_unref(good->signal_source);
    if (good->child_source != NULL) {
        grun_child_source_invalidate(good->child_source);
        grun_child_source_unref(good->child_source);
    }
    grun_timer_invalidate(good->timer);
    grun_timer_unref(good->timer);
    grun_observer_invalidate(good->observer);
    grun_observer_unref(good->observer);
    grun_idle_queue_invalidate(good->idle_queue);
    grun_idle_queue_unref(good->idle_queue);
    grun_channel_invalidate(good->channel);
    grun_channel_unref(good->channel);
    grun_notification_queue_unref(good->notification_queue);
    grun_port_invalidate(good->port);
    grun_port_unref(good->port);
    grun_port_message_unref(good->port_message);
    grun_message_unref(good->message);
    grun_remote_message_port_unref(good->remote_message_port);
    grun_message_port_invalidate(good->message_port);
    grun_message_port_unref(good->message_port);
    g_bytes_unref(good->bytes);
    grun_thread_wait(good->thread);
    grun_thread_unref(good->thread);
    g_main_context_unref(good->context);
    g_clear_error(&good->error);
}

static GMutex lock;
static guint criticals;
static char *message;

static void on_log(const char *domain, GLogLevelFlags level, const char *text, gpointer data)
{
    (void)domain;
    (void)data;
    g_mutex_lock(&lock);
    if (level & G_LOG_LEVEL_CRITICAL) {
        criticals++;
        g_free(message);
        message = g_strdup(text);
    }
    g_mutex_unlock(&lock);
}

static guint failures, calls;

static void judge(const char *function, const char *arguments, int expected, gboolean is_empty)
{
    calls++;
    g_mutex_lock(&lock);
    char *prefix = g_strconcat(function, ": ", NULL);
    gboolean is_other = expected >= 0 ? criticals != (guint)expected : criticals > 1;
    if (is_other || (criticals && (!g_str_has_prefix(message, prefix) || !is_empty))) {
        printf("%s (%s): %u criticals, not %d%s%s%s\\n", function, arguments, criticals, expected,
            criticals ? ": " : "", criticals ? message : "", is_empty ? "" : "; it returns something");
        failures++;
    }
    g_free(prefix);
    criticals = 0;
    g_mutex_unlock(&lock);
}

static gpointer perform(gpointer body) { ((void (*)(void))body)(); return NULL; }
static void run(void (*body)(void)) { g_thread_join(g_thread_new("bad", perform, (gpointer)body)); }
static void run_with_child(void (*body)(void))
{
    g_autoptr(GRunChildSource) source = grun_child_source_new(child, on_child_source, NULL, NULL, NULL);
    if (source != NULL)
        run(body);
}
static void in_virtual_time(GRunLoop *loop, gpointer body) { (void)loop; ((void (*)(void))body)(); }
static gpointer perform_in_virtual_time(gpointer body)
{
    grun_with_virtual_time(0, in_virtual_time, body);
    return NULL;
}
static void run_in_virtual_time(void (*body)(void))
{
    g_thread_join(g_thread_new("bad", perform_in_virtual_time, (gpointer)body));
}
"""


def main():
    root = tree.parse(sys.argv[1]).getroot()
    print(HEAD + DIRECTORY)
    names = []
    for node, arguments, throws in functions(root):
        symbol = node.get(C + "identifier")
        if throws:
            error = Argument(tree.fromstring('<p name="error"/>'))
            error.type, error.nullable = "GError**", True
            arguments.append(error)
        result = node.find(CORE + "return-value")
        kind = result.find(CORE + "type")
        kind = (kind if kind is not None else result.find(CORE + "array")).get(C + "type")
        if kind == "const char* const*":
            kind = "char**"
        consumes = symbol.endswith(("_ref", "_unref"))
        for index, argument in enumerate(arguments):
            for value, count, prepare, replaced in cases(arguments, index):
                # Functions that count references are only tested with NULL.
                if consumes and value != "NULL":
                    continue
                texts = [
                    replaced.get(each.name, '"/dev/null"' if each.name == "path" else GOOD[each.type])
                    for each in arguments
                ]
                texts[index] = value
                if count == "other":
                    count = 1 if symbol.startswith("grun_loop_add_") else 0
                # Some calls are not misuse and must log nothing, for example the removal of the home context.
                call = "%s (%s)" % (symbol, ", ".join(texts))
                name = "case_%d" % len(names)
                is_virtual = arguments[0].doc.startswith("the loop that grun_with_virtual_time()")
                # Valgrind 3.19 does not know pidfd_open(2), so the child source may be NULL.
                needs_child = any(each.type == "GRunChildSource*" for each in arguments)
                run = "run_with_child" if needs_child else "run"
                names.append((name, "run_in_virtual_time" if is_virtual else run))
                print("static void %s(void)\n{\n    Good good = make();" % name)
                if prepare:
                    print("    %s" % prepare)
                is_empty = "TRUE"
                if kind == "void":
                    print("    %s;" % call)
                else:
                    print("    %s result = %s;" % (kind, call))
                    if kind.endswith("*"):
                        is_empty = "result == NULL"
                number = -1 if count is None else count
                text = ", ".join(texts).replace("\\", "\\\\").replace('"', '\\"')
                print('    judge("%s", "%s", %d, %s);' % (symbol, text, number, is_empty))
                transfer = result.get("transfer-ownership")
                if kind in RELEASES and transfer != "none":
                    print("    if (result != NULL) %s(result);" % RELEASES[kind])
                elif kind != "void":
                    print("    (void)result;")
                print("    drop(&good);\n}\n")
    print("int main(void)\n{\n    make_directory();\n    long_name = g_strnfill(1 << 20, 'x');")
    print("    g_value_init(&good_value, G_TYPE_INT);")
    print('    set_error = g_error_new_literal(GRUN_ERROR, 0, "set");')
    print("    g_log_set_default_handler(on_log, NULL);\n    descriptor = eventfd(0, EFD_CLOEXEC);")
    # The child ends with this process.
    print("    child = fork();\n    if (child == 0) {\n        prctl(PR_SET_PDEATHSIG, SIGKILL);\n        for (;;)\n"
          "            pause();\n    }")
    print('    other = grun_thread_new("other", NULL, NULL, NULL);')
    print('    ended = grun_thread_new("ended", NULL, NULL, NULL);')
    print("    grun_thread_stop(ended);\n    grun_thread_wait(ended);")
    for name, how in names:
        print("    %s(%s);" % (how, name))
    print("    grun_thread_stop(other);\n    grun_thread_wait(other);")
    print("    grun_thread_unref(other);\n    grun_thread_unref(ended);")
    print("    g_free(long_name);\n    g_error_free(set_error);\n    g_free(message);\n    close(descriptor);")
    print("    remove_directory();")
    print('    printf("bad-input: %u calls, %u failures\\n", calls, failures);\n    return failures != 0;\n}')


if __name__ == "__main__":
    main()
