# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that calls every function of <grun/grun.h> in a forked child, while another thread of the parent
holds the loop's lock: forked.py GRun-1.0.gir > forked.c

Each call has its own child. The program fails if a call hangs, or does not report that the process was forked although
it must.
"""
import importlib.util
import os
import sys
import xml.etree.ElementTree as tree

folder = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bad_input", os.path.join(folder, "bad-input.py"))
bad_input = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bad_input)
CORE, C = bad_input.CORE, bad_input.C

# These functions are silent, because a child cleans up or queries state with them, or because they need no lock.
SILENT = (
    "_ref", "_unref", "_is_valid", "_invalidate", "_to_string", "_new", "_new_at", "_new_full",
    "_new_for_values", "_get_type", "_quark",
)
SILENT_FUNCTIONS = {
    "grun_check_version", "grun_loop_get_current", "grun_loop_get_main", "grun_loop_get_time",
    "grun_with_virtual_time", "grun_source_get_order", "grun_signal_source_get_signum", "grun_child_source_get_pid",
    "grun_fd_source_get_fd", "grun_fd_source_get_condition", "grun_observer_get_activities",
    "grun_observer_does_repeat", "grun_observer_get_order", "grun_thread_copy_name", "grun_thread_get_loop",
    "grun_loop_remove_end_func", "grun_idle_queue_get_time_per_pass", "grun_idle_queue_remove_all",
    "grun_channel_close", "grun_channel_invalidate", "grun_channel_is_open",
    "grun_channel_get_capacity", "grun_channel_get_count", "grun_notification_queue_remove_func",
    "grun_message_port_new_replying", "grun_message_port_copy_name", "grun_message_port_set_name",
    "grun_remote_message_port_look_up", "grun_remote_message_port_copy_name", "grun_message_get_id",
    "grun_message_get_data", "grun_message_get_size", "grun_message_wants_reply",
    "grun_message_port_get_maximum_handler_depth", "grun_loop_watch_stalls",
    "grun_timeline_stop", "grun_timeline_write",
    "grun_port_get_capacity", "grun_port_get_count", "grun_port_message_get_id",
}

# These functions report the fork by their error.
REFUSED = {
    "grun_thread_new", "grun_message_port_new", "grun_message_port_new_replying", "grun_message_port_set_name",
    "grun_remote_message_port_look_up", "grun_loop_watch_stalls", "grun_timeline_write",
}

HEAD = """// Written by forked.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <grun/grun.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
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
static GValue good_value;
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

static const char *good_modes[] = {"bad", "worse", NULL};
static const gint good_fds[] = {0};

static struct {
    GRunLoop *loop;
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
    guint count;
    GBytes *bytes;
    GRunThread *thread;
    GMainContext *context;
    GError *error;
} good;

// Directory
static int parking = -1;
static GMutex mutex;
static GCond has_parked;
static gboolean is_parked;

// Replaces libc's function, which the loop calls with its lock held. Adding this descriptor blocks forever.
int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event)
{
    if (descriptor == g_atomic_int_get(&parking)) {
        g_mutex_lock(&mutex);
        is_parked = TRUE;
        g_cond_signal(&has_parked);
        g_mutex_unlock(&mutex);
        for (;;)
            pause();
    }
    static int (*next)(int, int, int, struct epoll_event *);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "epoll_ctl");
    return next(epoll, operation, descriptor, event);
}

static gpointer park(gpointer source)
{
    grun_loop_add_fd_source(good.loop, source, GRUN_MODE_DEFAULT, NULL);
    return NULL;
}

static void have_the_lock_taken(void)
{
    int descriptor = eventfd(0, EFD_CLOEXEC);
    g_atomic_int_set(&parking, descriptor);
    g_thread_unref(g_thread_new("parked", park, grun_fd_source_new(descriptor, G_IO_IN, on_fd_source, NULL, NULL)));
    g_mutex_lock(&mutex);
    while (!is_parked)
        g_cond_wait(&has_parked, &mutex);
    g_mutex_unlock(&mutex);
}

static void set_up(void)
{
    good.loop = grun_loop_get_current();
    good.source = grun_source_new(0, on_source, NULL, NULL);
    good.fd_source = grun_fd_source_new(eventfd(0, EFD_CLOEXEC), G_IO_IN, on_fd_source, NULL, NULL);
    good.signal_source = grun_signal_source_new(SIGURG, FALSE, on_signal_source, NULL, NULL, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    good.child_source = grun_child_source_new(child, on_child_source, NULL, NULL, NULL);
    good.timer = grun_timer_new(3600, TRUE, on_timer, NULL, NULL);
    good.observer = grun_observer_new(GRUN_ACTIVITY_EXIT, TRUE, 0, on_observer, NULL, NULL);
    good.idle_queue = grun_idle_queue_new(0);
    good.thread = grun_thread_new("other", NULL, NULL, NULL);
    good.notification_queue = grun_notification_queue_new(good.loop);
    g_value_init(&good_value, G_TYPE_INT);
    good.channel = grun_channel_new(1, NULL);
    good.port = grun_port_new(1, on_port_message, NULL, NULL);
    good.bytes = g_bytes_new("bytes", 5);
    good.port_message = grun_port_message_new(1);
    grun_port_message_add_bytes(good.port_message, good.bytes);
    grun_port_message_add_port(good.port_message, good.port);
    good.message_port = grun_message_port_new("good", on_sent_message, NULL, NULL, NULL);
    good.remote_message_port = grun_remote_message_port_look_up("good", NULL);
    grun_loop_add_message_port(good.loop, good.message_port, GRUN_MODE_DEFAULT, NULL);
    grun_remote_message_port_request(good.remote_message_port, 1, NULL, NULL, 0, 0, 0, GRUN_MODE_DEFAULT, NULL);
    while (came == NULL)
        grun_loop_run_in_mode(good.loop, GRUN_MODE_DEFAULT, 1, TRUE);
    good.message = came;
    grun_channel_receive(good.channel, good.loop, GRUN_MODE_DEFAULT, on_message, NULL, NULL);
    good.context = g_main_context_new();
    grun_loop_add_source(good.loop, good.source, GRUN_MODE_COMMON);
    grun_loop_add_fd_source(good.loop, good.fd_source, GRUN_MODE_DEFAULT, NULL);
    grun_loop_add_signal_source(good.loop, good.signal_source, GRUN_MODE_DEFAULT, NULL);
    grun_loop_add_child_source(good.loop, good.child_source, GRUN_MODE_DEFAULT, NULL);
    grun_loop_add_timer(good.loop, good.timer, GRUN_MODE_DEFAULT);
    grun_loop_add_observer(good.loop, good.observer, GRUN_MODE_DEFAULT);
    grun_loop_add_idle_queue(good.loop, good.idle_queue, GRUN_MODE_DEFAULT);
    grun_loop_add_port(good.loop, good.port, GRUN_MODE_DEFAULT);
    have_the_lock_taken();
}

static void in_virtual_time(GRunLoop *loop, gpointer body)
{
    GRunLoop *own = good.loop;
    good.loop = loop;
    ((void (*)(void))body)();
    good.loop = own;
}

static guint calls, failures;

static void fail(const char *function, const char *what, const char *text)
{
    printf("%s: %s%s%s\\n", function, what, *text ? ": " : "", text);
    failures++;
}

static void check(const char *function, void (*body)(void), gboolean is_virtual, gboolean is_said)
{
    static char text[4096];
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return fail(function, "no pipe", "");
    calls++;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dup2(ends[1], STDERR_FILENO);
        if (is_virtual)
            grun_with_virtual_time(0, in_virtual_time, (gpointer)body);
        else
            body();
        _exit(0);
    }
    close(ends[1]);
    waitpid(child, &status, 0);
    ssize_t size = read(ends[0], text, sizeof text - 1);
    text[MAX(size, 0)] = 0;
    close(ends[0]);
    gboolean says = strstr(text, "this process was forked and did not exec()") != NULL &&
        strstr(text, function) != NULL;
    if (status != 0)
        fail(function, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "fails", text);
    else if (is_said && !says)
        fail(function, "does not say that the process was forked", text);
    else if (!is_said && *text)
        fail(function, "is not silent", text);
}

static void must(gboolean condition)
{
    if (!condition)
        _exit(1);
}

"""


def main():
    names = []
    print(bad_input.DIRECTORY.join(HEAD.split("// Directory\n")))
    for node, arguments, throws in bad_input.functions(tree.parse(sys.argv[1]).getroot()):
        symbol = node.get(C + "identifier")
        # A function of a type is also listed beside the type.
        if any(symbol == name for name, _, _ in names):
            continue
        values = [bad_input.GOOD[each.type] for each in arguments] + (["&good.error"] if throws else [])
        call = "%s (%s)" % (symbol, ", ".join(values))
        print("static void call_%s(void)\n{" % symbol)
        if symbol in REFUSED:
            print('    must(!%s);\n    must(strstr(good.error->message, "forked") != NULL);' % call)
        elif symbol.endswith("_is_valid"):
            print("    must(!%s);" % call)
        else:
            print("    (void)%s;" % call)
        print("}\n")
        is_virtual = bool(arguments) and arguments[0].doc.startswith("the loop that grun_with_virtual_time()")
        names.append((symbol, is_virtual, not symbol.endswith(SILENT) and symbol not in SILENT_FUNCTIONS))
    print("int main(void)\n{\n    make_directory();\n    set_up();")
    for symbol, is_virtual, is_said in names:
        print('    check("%s", call_%s, %s, %s);' % (symbol, symbol, str(is_virtual).upper(), str(is_said).upper()))
    print('    printf("forked: %u calls, %u failures\\n", calls, failures);')
    print("    remove_directory();\n    fflush(stdout);\n    _exit(failures != 0);\n}")


main()
