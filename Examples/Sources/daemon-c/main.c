// SPDX-License-Identifier: Apache-2.0
// A daemon: it reads its configuration again on SIGHUP, keeps a child alive, receives values from threads, and writes
// statistics when it is idle. On SIGTERM and SIGINT it delivers the accepted values, ends and reaps the child, and
// exits with status 0. The same program in Swift is daemon. Examples/daemon.conf explains the configuration.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <grun/grun.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The mode of the last run. It holds everything that must finish, so the mode is finished when all of it is.
#define MODE_STOPPING "stopping"

enum { CAPACITY = 1024, DAY = 86400000 };

// MARK: Configuration

typedef struct {
    char **child; // a program and its arguments; empty: none
    long long first_delay, longest_delay, patience, workers, interval, work, statistics;
} Configuration;

static void configuration_free(Configuration *configuration)
{
    g_strfreev(configuration->child);
    g_free(configuration);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Configuration, configuration_free)

static char **words_of(const char *text)
{
    GPtrArray *words = g_ptr_array_new();
    g_auto(GStrv) parts = g_strsplit(text, " ", -1);
    for (char **part = parts; *part != NULL; part++) {
        if (**part != '\0')
            g_ptr_array_add(words, g_strdup(*part));
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

// Returns what is wrong with the setting; NULL if nothing is.
static char *set(Configuration *configuration, const char *name, const char *value)
{
    const struct {
        const char *name;
        long long *place, least, most;
    } settings[] = {
        {"first-delay", &configuration->first_delay, 1, DAY},
        {"longest-delay", &configuration->longest_delay, 1, DAY},
        {"patience", &configuration->patience, 1, DAY},
        {"workers", &configuration->workers, 0, 64},
        {"interval", &configuration->interval, 1, DAY},
        {"work", &configuration->work, 0, 1000},
        {"statistics", &configuration->statistics, 1, DAY},
    };
    if (strcmp(name, "child") == 0) {
        g_strfreev(configuration->child);
        configuration->child = words_of(value);
        return NULL;
    }
    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
        if (strcmp(name, settings[i].name) != 0)
            continue;
        gint64 amount;
        if (!g_ascii_string_to_signed(value, 10, settings[i].least, settings[i].most, &amount, NULL))
            return g_strdup_printf(
                "%s is a number from %lld to %lld", name, settings[i].least, settings[i].most);
        *settings[i].place = amount;
        return NULL;
    }
    return g_strdup_printf("no setting is called %s", name);
}

// Returns NULL and the reason in `why` on failure.
static Configuration *configuration_read(const char *path, char **why)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        *why = g_strdup_printf("%s: %s", path, g_strerror(errno));
        return NULL;
    }
    g_autoptr(Configuration) configuration = g_new(Configuration, 1);
    *configuration = (Configuration){.child = g_new0(char *, 1),
        .first_delay = 100,
        .longest_delay = 10000,
        .patience = 5000,
        .workers = 2,
        .interval = 100,
        .statistics = 1000};
    char *wrong = NULL, *line = NULL;
    size_t size = 0;
    for (guint number = 1; wrong == NULL && getline(&line, &size, file) >= 0; number++) {
        char *name = g_strstrip(line), *value = strchr(line, '=');
        if (*name == '\0' || *name == '#')
            continue;
        g_autofree char *reason = NULL;
        if (value == NULL) {
            reason = g_strdup("a setting is NAME = VALUE");
        } else {
            *value = '\0';
            reason = set(configuration, g_strstrip(name), g_strstrip(value + 1));
        }
        if (reason != NULL)
            wrong = g_strdup_printf("%s: line %u: %s", path, number, reason);
    }
    if (wrong == NULL && ferror(file))
        wrong = g_strdup_printf("%s: %s", path, g_strerror(errno));
    free(line);
    fclose(file);
    if (wrong == NULL && configuration->longest_delay < configuration->first_delay)
        wrong = g_strdup_printf("%s: longest-delay is shorter than first-delay", path);
    if (wrong == NULL)
        return g_steal_pointer(&configuration);
    *why = wrong;
    return NULL;
}

// MARK: State

// The next step of the daemon after the child has ended.
typedef enum { NEXT_LATER, NEXT_AT_ONCE, NEXT_NOTHING } Next;

typedef struct {
    GRunLoop *loop;
    const char *path;
    Configuration *configuration;
    GRunSignalSource *signals[3];
    gint stop_signal;
    unsigned long long reloads;

    GRunChannel *channel;
    GPtrArray *workers; // of GRunThread
    // Counters of all threads. A thread adds to them after the channel has the value, so more values may have been
    // received than sent, until the threads have ended.
    atomic_ullong sent, dropped;
    unsigned long long received;
    gint64 slowest; // the longest delay of a reading since the last statistics

    GRunIdleQueue *idle;
    GRunTimer *statistics;

    GRunChildSource *child; // waits for the end of the child; NULL if there is none
    GRunFdSource *output;   // reads the child's output; NULL after its end
    GString *line;          // the beginning of a line that is not complete yet
    char *report;           // how the child has ended, while its output is read to the end
    gint pid;
    long long lifetime;
    GRunTimer *cut; // closes an output that does not end after its child
    Next next;
    gint64 start_date;
    long long delay;
    GRunTimer *restart; // starts the next child
    GRunTimer *kill;    // kills a child that does not end by itself
    unsigned long long children;
} Daemon;

static void forget_timer(GRunTimer **timer)
{
    if (*timer != NULL)
        grun_timer_invalidate(*timer);
    g_clear_pointer(timer, grun_timer_unref);
}

// MARK: Threads that send values

// A message from a thread to the loop. A real program would have its content here.
typedef struct {
    gint64 date;
} Reading;

static gboolean send_reading(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Daemon *daemon = user_data;
    Reading *reading = g_new(Reading, 1);
    reading->date = g_get_monotonic_time();
    switch (grun_channel_send(daemon->channel, reading)) {
    case GRUN_SEND_RESULT_ENQUEUED:
        atomic_fetch_add_explicit(&daemon->sent, 1, memory_order_relaxed);
        return G_SOURCE_CONTINUE;
    case GRUN_SEND_RESULT_FULL:
        // The channel is full. A late reading is worthless, so it is dropped.
        g_free(reading);
        atomic_fetch_add_explicit(&daemon->dropped, 1, memory_order_relaxed);
        return G_SOURCE_CONTINUE;
    default:
        g_free(reading);
        return G_SOURCE_REMOVE;
    }
}

// Returns when the threads have ended. That is immediate, because they wait for their timers only.
static void stop_workers(Daemon *daemon)
{
    for (guint i = 0; i < daemon->workers->len; i++)
        grun_thread_stop(daemon->workers->pdata[i]);
    for (guint i = 0; i < daemon->workers->len; i++)
        grun_thread_wait(daemon->workers->pdata[i]);
    g_ptr_array_set_size(daemon->workers, 0);
}

// Ends the present threads and starts others.
static void start_workers(Daemon *daemon)
{
    stop_workers(daemon);
    for (guint i = 0; i < daemon->configuration->workers; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *name = g_strdup_printf("worker %u", i);
        GRunThread *thread = grun_thread_new(name, NULL, NULL, &error);
        if (thread == NULL) {
            g_print("%s: %s\n", name, error->message);
            continue;
        }
        g_ptr_array_add(daemon->workers, thread);
        g_autoptr(GRunTimer) timer =
            grun_timer_new(daemon->configuration->interval / 1e3, TRUE, send_reading, daemon, NULL);
        grun_loop_add_timer(grun_thread_get_loop(thread), timer, GRUN_MODE_DEFAULT);
    }
}

static void handle_reading(gpointer message, gpointer user_data)
{
    Daemon *daemon = user_data;
    g_autofree Reading *reading = message;
    daemon->received++;
    daemon->slowest = MAX(daemon->slowest, g_get_monotonic_time() - reading->date);
    if (daemon->configuration->work > 0)
        g_usleep((gulong)daemon->configuration->work * 1000);
}

// MARK: The child

static void start_child(Daemon *daemon);

static gboolean restart_is_due(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    start_child(user_data);
    return G_SOURCE_REMOVE;
}

static void start_child_later(Daemon *daemon, const char *reason)
{
    g_print("%s; next in %lld ms\n", reason, daemon->delay);
    forget_timer(&daemon->restart);
    daemon->restart = grun_timer_new(daemon->delay / 1e3, FALSE, restart_is_due, daemon, NULL);
    grun_loop_add_timer(daemon->loop, daemon->restart, GRUN_MODE_DEFAULT);
    daemon->delay = MIN(2 * daemon->delay, daemon->configuration->longest_delay);
}

static char *describe_end(gint status, const GError *error)
{
    if (error != NULL)
        return g_strdup(error->message);
    if (WIFEXITED(status))
        return g_strdup_printf("exited with %d", WEXITSTATUS(status));
    return g_strdup_printf("ended by signal %d%s", WTERMSIG(status), WCOREDUMP(status) ? ", core dumped" : "");
}

// The child has ended, and so has its output.
static void go_on(Daemon *daemon)
{
    forget_timer(&daemon->cut);
    g_autofree char *what = g_steal_pointer(&daemon->report);
    switch (daemon->next) {
    case NEXT_NOTHING:
        g_print("%s\n", what);
        break;
    case NEXT_AT_ONCE:
        g_print("%s; next at once\n", what);
        start_child(daemon);
        break;
    case NEXT_LATER:
        if (daemon->lifetime >= daemon->configuration->longest_delay)
            daemon->delay = daemon->configuration->first_delay;
        start_child_later(daemon, what);
    }
}

static void say_line(Daemon *daemon, gsize length)
{
    g_print("child %d: says %.*s\n", daemon->pid, (int)length, daemon->line->str);
    g_string_erase(daemon->line, 0, (gssize)MIN(length + 1, daemon->line->len));
}

// Called when no further line comes.
static void close_output(Daemon *daemon)
{
    gint fd = grun_fd_source_get_fd(daemon->output);
    // The source is invalidated first, because another file may get the number.
    grun_fd_source_invalidate(daemon->output);
    g_clear_pointer(&daemon->output, grun_fd_source_unref);
    close(fd);
    g_string_truncate(daemon->line, 0);
}

static gboolean read_output(GRunFdSource *source, GIOCondition condition, gpointer user_data)
{
    (void)condition;
    Daemon *daemon = user_data;
    char buffer[4096], *newline;
    ssize_t count = read(grun_fd_source_get_fd(source), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    g_string_append_len(daemon->line, buffer, MAX(0, count));
    while ((newline = memchr(daemon->line->str, '\n', daemon->line->len)) != NULL)
        say_line(daemon, (gsize)(newline - daemon->line->str));
    if (count > 0)
        return G_SOURCE_CONTINUE;
    if (daemon->line->len > 0)
        say_line(daemon, daemon->line->len);
    close_output(daemon);
    if (daemon->child == NULL)
        go_on(daemon);
    return G_SOURCE_REMOVE;
}

static gboolean output_is_late(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Daemon *daemon = user_data;
    g_print("child %d: its output has not ended within %lld ms, and is closed\n", daemon->pid,
        daemon->configuration->patience);
    close_output(daemon);
    go_on(daemon);
    return G_SOURCE_REMOVE;
}

// The end of the child and the end of its output are two events in any order: output may remain in the pipe after the
// child's end, and a child may close its output and go on. The next step needs both.
static void child_has_ended(GRunChildSource *source, gint status, const GError *error, gpointer user_data)
{
    (void)source;
    Daemon *daemon = user_data;
    daemon->lifetime = (g_get_monotonic_time() - daemon->start_date) / 1000;
    g_autofree char *how = describe_end(status, error);
    daemon->report = g_strdup_printf("child %d: %s, after %lld ms", daemon->pid, how, daemon->lifetime);
    g_clear_pointer(&daemon->child, grun_child_source_unref);
    forget_timer(&daemon->kill);
    if (daemon->output == NULL) {
        go_on(daemon);
        return;
    }
    // Another process that the child has started may hold the output as well.
    daemon->cut = grun_timer_new(daemon->configuration->patience / 1e3, FALSE, output_is_late, daemon, NULL);
    grun_loop_add_timer(daemon->loop, daemon->cut, GRUN_MODE_DEFAULT);
    grun_loop_add_timer(daemon->loop, daemon->cut, MODE_STOPPING);
}

// The daemon closes `output` afterwards if this fails.
static gboolean watch_child(Daemon *daemon, pid_t pid, gint output, GError **error)
{
    g_autoptr(GRunFdSource) reader = grun_fd_source_new(output, G_IO_IN, read_output, daemon, NULL);
    g_autoptr(GRunChildSource) source = grun_child_source_new(pid, child_has_ended, daemon, NULL, error);
    if (source == NULL)
        return FALSE;
    if (grun_loop_add_child_source(daemon->loop, source, GRUN_MODE_DEFAULT, error)
        && grun_loop_add_child_source(daemon->loop, source, MODE_STOPPING, error)
        && grun_loop_add_fd_source(daemon->loop, reader, GRUN_MODE_DEFAULT, error)
        && grun_loop_add_fd_source(daemon->loop, reader, MODE_STOPPING, error)) {
        daemon->pid = pid;
        daemon->child = g_steal_pointer(&source);
        daemon->output = g_steal_pointer(&reader);
        return TRUE;
    }
    grun_fd_source_invalidate(reader);
    grun_child_source_invalidate(source);
    return FALSE;
}

// Starts a program that prints to a pipe. Returns 0 or an errno. `output` is the pipe's read end.
static int spawn(char **command, pid_t *pid, gint *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    // Without this close, the output would never end.
    close(ends[1]);
    if (error != 0)
        close(ends[0]);
    *output = ends[0];
    return error;
}

static void start_child(Daemon *daemon)
{
    forget_timer(&daemon->restart);
    daemon->next = NEXT_LATER;
    char **command = daemon->configuration->child;
    if (command[0] == NULL)
        return;
    daemon->start_date = g_get_monotonic_time();
    g_autofree char *reason = NULL;
    g_autoptr(GError) error = NULL;
    pid_t pid;
    gint output = -1;
    int refused = spawn(command, &pid, &output);
    if (refused != 0) {
        reason = g_strdup_printf("child %s: %s", command[0], g_strerror(refused));
    } else if (!watch_child(daemon, pid, output, &error)) {
        close(output);
        // No source would report the end of this child.
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        reason = g_strdup_printf("child %s: %s", command[0], error->message);
    }
    if (reason != NULL) {
        start_child_later(daemon, reason);
        return;
    }
    daemon->children++;
    g_print("child %d: started\n", pid);
}

static gboolean patience_is_over(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Daemon *daemon = user_data;
    gint pid = grun_child_source_get_pid(daemon->child);
    g_print("child %d: has not ended within %lld ms, and is killed\n", pid,
        daemon->configuration->patience);
    kill(pid, SIGKILL);
    return G_SOURCE_REMOVE;
}

static void end_child(Daemon *daemon)
{
    if (daemon->child == NULL)
        return;
    // Only this thread reaps the child, so the number still belongs to it.
    kill(grun_child_source_get_pid(daemon->child), SIGTERM);
    forget_timer(&daemon->kill);
    daemon->kill = grun_timer_new(daemon->configuration->patience / 1e3, FALSE, patience_is_over, daemon, NULL);
    grun_loop_add_timer(daemon->loop, daemon->kill, GRUN_MODE_DEFAULT);
    grun_loop_add_timer(daemon->loop, daemon->kill, MODE_STOPPING);
}

// A different command ends the child, and the next one follows immediately. New delays apply from the next end on.
static void configure_child(Daemon *daemon, gboolean is_other)
{
    Configuration *configuration = daemon->configuration;
    daemon->delay = MAX(configuration->first_delay, MIN(daemon->delay, configuration->longest_delay));
    if (!is_other)
        return;
    daemon->delay = configuration->first_delay;
    if (daemon->child == NULL && daemon->output == NULL) {
        start_child(daemon);
    } else {
        daemon->next = configuration->child[0] == NULL ? NEXT_NOTHING : NEXT_AT_ONCE;
        end_child(daemon);
    }
}

// MARK: Statistics

static void write_statistics(gpointer user_data)
{
    Daemon *daemon = user_data;
    g_print("statistics: %llu received, %llu dropped, %llu children, %llu reloads, slowest after %lld ms\n",
        daemon->received, atomic_load(&daemon->dropped), daemon->children, daemon->reloads,
        (long long)daemon->slowest / 1000);
    daemon->slowest = 0;
}

// Statistics are written when the daemon is idle. Until then they wait, and are enqueued only once.
static gboolean ask_for_statistics(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Daemon *daemon = user_data;
    if (grun_idle_queue_get_length(daemon->idle) == 0)
        grun_idle_queue_enqueue(daemon->idle, write_statistics, daemon, NULL);
    else
        g_print("busy: the statistics wait, and %lld values\n", (long long)grun_channel_get_count(daemon->channel));
    return G_SOURCE_CONTINUE;
}

// MARK: The daemon

static void start_working(Daemon *daemon)
{
    Configuration *configuration = daemon->configuration;
    g_autofree char *command = g_strjoinv(" ", configuration->child);
    g_print("configuration: %lld workers, a value each %lld ms, %s%s\n",
        configuration->workers, configuration->interval, *command == '\0' ? "no child" : "child ", command);
    start_workers(daemon);
    forget_timer(&daemon->statistics);
    daemon->statistics = grun_timer_new(configuration->statistics / 1e3, TRUE, ask_for_statistics, daemon, NULL);
    grun_loop_add_timer(daemon->loop, daemon->statistics, GRUN_MODE_DEFAULT);
}

static gboolean reload(GRunSignalSource *source, guint64 count, gpointer user_data)
{
    (void)source;
    (void)count;
    Daemon *daemon = user_data;
    g_autofree char *why = NULL;
    Configuration *configuration = configuration_read(daemon->path, &why);
    if (configuration == NULL) {
        g_print("configuration: %s; the former one stays\n", why);
        return G_SOURCE_CONTINUE;
    }
    g_autoptr(Configuration) former = daemon->configuration;
    daemon->configuration = configuration;
    daemon->reloads++;
    start_working(daemon);
    configure_child(
        daemon, !g_strv_equal((const char *const *)former->child, (const char *const *)configuration->child));
    return G_SOURCE_CONTINUE;
}

static gboolean stop(GRunSignalSource *source, guint64 count, gpointer user_data)
{
    (void)count;
    Daemon *daemon = user_data;
    daemon->stop_signal = grun_signal_source_get_signum(source);
    grun_loop_stop(daemon->loop);
    return G_SOURCE_CONTINUE;
}

// Called first, so that every later signal is handled.
static gboolean listen_to_signals(Daemon *daemon, GError **error)
{
    // The parent may have ignored SIGCHLD. Then the kernel would not report how a child has ended.
    signal(SIGCHLD, SIG_DFL);
    const gint numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        GRunSignalSourceFunc func = numbers[i] == SIGHUP ? reload : stop;
        daemon->signals[i] = grun_signal_source_new(numbers[i], FALSE, func, daemon, NULL, error);
        if (daemon->signals[i] == NULL
            || !grun_loop_add_signal_source(daemon->loop, daemon->signals[i], GRUN_MODE_DEFAULT, error))
            return FALSE;
    }
    return TRUE;
}

static void run(Daemon *daemon)
{
    g_print("started: process %d\n", getpid());
    daemon->workers = g_ptr_array_new_with_free_func((GDestroyNotify)grun_thread_unref);
    daemon->channel = grun_channel_new(CAPACITY, g_free);
    grun_channel_receive(daemon->channel, daemon->loop, GRUN_MODE_DEFAULT, handle_reading, daemon, NULL);
    grun_loop_add_channel(daemon->loop, daemon->channel, MODE_STOPPING);
    // A mode needs a descriptor at its first run. It gets one now, because at the end none may be free.
    grun_loop_run_in_mode(daemon->loop, MODE_STOPPING, 0, FALSE);
    daemon->idle = grun_idle_queue_new(0);
    grun_loop_add_idle_queue(daemon->loop, daemon->idle, GRUN_MODE_DEFAULT);
    start_working(daemon);
    daemon->delay = daemon->configuration->first_delay;
    daemon->line = g_string_new(NULL);
    start_child(daemon);
    grun_loop_run(daemon->loop);

    // The run was stopped.
    grun_channel_close(daemon->channel);
    stop_workers(daemon);
    g_print("stopping: signal %d, %llu values to deliver\n", daemon->stop_signal,
        atomic_load(&daemon->sent) - daemon->received);
    daemon->next = NEXT_NOTHING;
    forget_timer(&daemon->restart);
    end_child(daemon);
    // The channel leaves the mode when all is delivered, the child when it is reaped, the output when it is read.
    grun_loop_run_in_mode(daemon->loop, MODE_STOPPING, G_MAXDOUBLE, FALSE);
    g_print("stopped: %llu sent, %llu received, %llu dropped\n", atomic_load(&daemon->sent), daemon->received,
        atomic_load(&daemon->dropped));

    grun_idle_queue_invalidate(daemon->idle);
    grun_idle_queue_unref(daemon->idle);
    grun_channel_unref(daemon->channel);
    g_ptr_array_unref(daemon->workers);
    forget_timer(&daemon->statistics);
    g_string_free(daemon->line, TRUE);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        g_printerr("usage: daemon-c CONFIGURATION\n");
        return 2;
    }
    Daemon daemon = {.loop = grun_loop_get_current(), .path = argv[1]};
    g_autofree char *why = NULL;
    g_autoptr(GError) error = NULL;
    daemon.configuration = configuration_read(daemon.path, &why);
    gboolean is_ready = daemon.configuration != NULL && listen_to_signals(&daemon, &error);
    if (is_ready)
        run(&daemon);
    else
        g_printerr("daemon: %s\n", error != NULL ? error->message : why);
    for (guint i = 0; i < G_N_ELEMENTS(daemon.signals); i++) {
        if (daemon.signals[i] != NULL)
            grun_signal_source_invalidate(daemon.signals[i]);
        g_clear_pointer(&daemon.signals[i], grun_signal_source_unref);
    }
    g_clear_pointer(&daemon.configuration, configuration_free);
    return is_ready ? 0 : 1;
}
