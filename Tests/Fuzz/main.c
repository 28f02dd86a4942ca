// SPDX-License-Identifier: Apache-2.0
// Runs rounds, each in its own process, as many at a time as there are processors. Checks that they proceed, and
// reports findings:
//
//   fuzz --seconds N --seed S [--folder F] [--jobs N]
//   fuzz --round SEED [--steps 7,12,180]
#include "fuzz.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 64, STILL = IS_SANITIZED ? 60 : 15, LONGEST = IS_SANITIZED ? 240 : 60, REPORTS = 3 };

// MARK: A round

static void set_round(uint64_t seed, const char *kept)
{
    the_round.seed = seed;
    static bool steps[MAX_STEPS];
    for (const char *each = kept; each != NULL && *each != '\0'; each += strcspn(each, ","), each += *each == ',')
        steps[MIN(strtoul(each, NULL, 10), MAX_STEPS - 1)] = true;
    the_round.kept_steps = kept != NULL ? steps : NULL;
    uint64_t how = random_mix(seed, 7);
    the_round.steps = 300 + how % (MAX_STEPS - 300);
    switch (how / 1000 % 10) {
    case 0:
    case 1:
    case 2:
        the_round.main_takes_part = true;
        break;
    case 3:
        the_round.threads = 1;
        break;
    default:
        the_round.main_takes_part = how / 10000 % 4 != 0;
        the_round.threads = (the_round.main_takes_part ? 1 : 2) + (int)(how / 100000 % 3);
    }
    the_round.deadline = now_in_microseconds() + (IS_SANITIZED ? 20 : 4) * G_USEC_PER_SEC;
}

#if !IS_SANITIZED
// Prints the frames of a crash for the report.
static void on_crash(int number)
{
    void *frames[64];
    static const char text[] = "fuzz: a signal, in:\n";
    (void)!write(2, text, sizeof text - 1);
    backtrace_symbols_fd(frames, backtrace(frames, G_N_ELEMENTS(frames)), 2);
    signal(number, SIG_DFL);
    raise(number);
}

// The watching process asks each thread for its frames by a signal.
static void on_question(int number)
{
    (void)number;
    void *frames[64];
    char text[64];
    int length = snprintf(text, sizeof text, "fuzz: thread %d, in:\n", gettid());
    (void)!write(2, text, (size_t)length);
    backtrace_symbols_fd(frames, backtrace(frames, G_N_ELEMENTS(frames)), 2);
}

static void watch_crashes(void)
{
    static char stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    // The first call loads the unwinder, which a crash handler could not.
    void *frame;
    backtrace(&frame, 1);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_question, .sa_flags = SA_RESTART}, NULL);
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE};
    for (unsigned index = 0; index < G_N_ELEMENTS(signals); index++)
        sigaction(
            signals[index], &(struct sigaction){.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND}, NULL);
}
#else
static void watch_crashes(void) {}
#endif

G_GNUC_NORETURN static void play_round(uint64_t seed, const char *kept, int descriptor)
{
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE,
        descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, descriptor, 0);
    if (record == MAP_FAILED)
        abort();
    if (descriptor >= 0)
        close(descriptor);
    signal(SIGPIPE, SIG_IGN);
    watch_crashes();
    set_round(seed, kept);
    round_play();
}

// MARK: The process of a round

typedef struct {
    uint64_t seed;
    pid_t process;
    Record *record;
    char log[256];
    char names[256];  // XDG_RUNTIME_DIR
    uint64_t began, moved;
    unsigned progress;
    struct {
        unsigned count;
        uint64_t since;
    } inside[RECORDS];
    const char *why;
} Job;

static const char *folder = "/tmp";

static bool start(Job *job, uint64_t seed, const char *kept)
{
    memset(job, 0, sizeof *job);
    job->seed = seed;
    int descriptor = memfd_create("fuzz", 0);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(Record)) != 0)
        return false;
    job->record = mmap(NULL, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    static unsigned number;
    number = (number + 1) % 1000;
    snprintf(job->log, sizeof job->log, "%s/round-%u.log", folder, number);
    snprintf(job->names, sizeof job->names, "%s/names-%d-%u", folder, getpid(), number);
    mkdir(job->names, 0700);
    char round[32], of[16];
    snprintf(round, sizeof round, "%llu", (unsigned long long)seed);
    snprintf(of, sizeof of, "%d", descriptor);
    job->began = job->moved = now_in_microseconds();
    job->process = fork();
    if (job->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int log = open(job->log, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600), null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(log, 1);
        dup2(log, 2);
        close(log);
        close(null);
        // Fills freed memory, so that a use after free reads different bytes.
        setenv("MALLOC_PERTURB_", "165", 1);
        setenv("XDG_RUNTIME_DIR", job->names, 1);
        // Works even if another start of scripts/fuzz has replaced the file.
        execl("/proc/self/exe", "fuzz", "--round", round, "--record", of, "--steps", kept != NULL ? kept : "", NULL);
        _exit(127);
    }
    close(descriptor);
    return job->process > 0;
}

// Whether no call has begun or ended for a while, in the whole round or in one thread that is inside a call.
static bool stands_still(Job *job)
{
    uint64_t now = now_in_microseconds(), limit = STILL * G_USEC_PER_SEC;
    unsigned progress = atomic_load(&job->record->progress);
    if (progress != job->progress)
        job->progress = progress, job->moved = now;
    if (now - job->moved > limit)
        return true;
    for (int at = 0; at < RECORDS; at++) {
        ThreadRecord *thread = &job->record->threads_of[at];
        unsigned count = atomic_load(&thread->count);
        if (count != job->inside[at].count || atomic_load(&thread->inside) == 0 || job->inside[at].since == 0)
            job->inside[at].count = count, job->inside[at].since = now;
        if (now - job->inside[at].since > limit)
            return true;
    }
    return now - job->began > LONGEST * G_USEC_PER_SEC;
}

#if !IS_SANITIZED
static void ask_threads(pid_t process)
{
    char *path = g_strdup_printf("/proc/%d/task", process);
    GDir *folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder != NULL && (name = g_dir_read_name(folder)) != NULL;) {
        syscall(SYS_tgkill, process, atoi(name), SIGUSR2);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    if (folder != NULL)
        g_dir_close(folder);
    g_free(path);
}
#endif

// Returns false while the process runs; afterwards sets its status.
static bool has_ended(Job *job, int *status)
{
    pid_t ended = waitpid(job->process, status, WNOHANG);
    if (ended == job->process)
        return true;
    if (job->why == NULL && stands_still(job)) {
        job->why = "stands still";
#if !IS_SANITIZED
        ask_threads(job->process);
#endif
        kill(job->process, SIGKILL);
    }
    return false;
}

static void remove_names(const char *path)
{
    char *inner = g_build_filename(path, "grun-ports", NULL);
    GDir *names = g_dir_open(inner, 0, NULL);
    for (const char *name; names != NULL && (name = g_dir_read_name(names)) != NULL;) {
        char *file = g_build_filename(inner, name, NULL);
        unlink(file);
        g_free(file);
    }
    if (names != NULL)
        g_dir_close(names);
    rmdir(inner);
    rmdir(path);
    g_free(inner);
}

static void finish(Job *job)
{
    remove_names(job->names);
    munmap(job->record, sizeof(Record));
    unlink(job->log);
}

static bool is_good(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

// MARK: Reports

static char *describe(const Job *job, int status)
{
    if (atomic_load(&job->record->has_finding))
        return g_strdup(job->record->finding);
    if (job->why != NULL)
        return g_strdup_printf("%s for %d seconds", job->why, STILL);
    if (WIFSIGNALED(status))
        return g_strdup_printf("ended by %s", strsignal(WTERMSIG(status)));
    return g_strdup_printf("ended with status %d", WEXITSTATUS(status));
}

// Returns the text without its numbers, to compare findings.
static char *kind_of(const char *text)
{
    GString *kind = g_string_new(NULL);
    for (; *text != '\0'; text++)
        if (!g_ascii_isdigit(*text))
            g_string_append_c(kind, *text);
    return g_string_free(kind, FALSE);
}

static void print_file(const char *path)
{
    char *text = NULL;
    gsize length = 0;
    if (!g_file_get_contents(path, &text, &length, NULL))
        return;
    const gsize most = 12000;
    fwrite(text, 1, MIN(length, most), stderr);
    if (length > most)
        fprintf(stderr, "\n[...]\n");
    g_free(text);
}

static char *run_alone(uint64_t seed, const char *kept)
{
    Job job;
    int status = 0;
    if (!start(&job, seed, kept))
        return NULL;
    while (!has_ended(&job, &status))
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    char *what = is_good(status) ? NULL : describe(&job, status);
    finish(&job);
    return what;
}

static bool fails_alike(uint64_t seed, const char *kept, const char *kind)
{
    char *what = run_alone(seed, kept);
    char *other = what != NULL ? kind_of(what) : NULL;
    bool is_alike = other != NULL && strcmp(other, kind) == 0;
    g_free(what);
    g_free(other);
    return is_alike;
}

static char *list_steps(const bool *kept, unsigned steps)
{
    GString *list = g_string_new(NULL);
    for (unsigned step = 0; step < steps; step++)
        if (kept[step])
            g_string_append_printf(list, "%s%u", list->len > 0 ? "," : "", step);
    // If no step is left, the list names a step that does not exist.
    return g_string_free(list->len > 0 ? list : g_string_append(list, "9999"), FALSE);
}

// Leaves out as many steps as possible from a round of one thread.
static char *shrink(uint64_t seed, unsigned steps, const char *kind)
{
    uint64_t limit = now_in_microseconds() + 30 * G_USEC_PER_SEC;
    bool kept[MAX_STEPS];
    memset(kept, true, sizeof kept);
    for (unsigned size = steps / 2; size > 0; size /= 2)
        for (unsigned from = 0; from < steps && now_in_microseconds() < limit; from += size) {
            bool fewer[MAX_STEPS];
            memcpy(fewer, kept, sizeof kept);
            memset(fewer + from, false, MIN(size, steps - from));
            char *list = list_steps(fewer, steps);
            if (memcmp(fewer, kept, sizeof kept) != 0 && fails_alike(seed, list, kind))
                memcpy(kept, fewer, sizeof kept);
            g_free(list);
        }
    return list_steps(kept, steps);
}

static void report(Job *job, int status, bool may_repeat)
{
    char *what = describe(job, status), *kind = kind_of(what);
    Record *of = job->record;
    bool is_one = of->threads + of->main_takes_part == 1;
    fprintf(stderr, "\nfuzz: round %llu (%d threads): %s\n", (unsigned long long)job->seed,
        of->threads + of->main_takes_part, what);
    record_print(of, may_repeat ? 14 : RECORD_ENTRIES);
    fprintf(stderr, "  what it wrote:\n");
    print_file(job->log);
    fprintf(stderr, "  again: scripts/fuzz --round %llu\n", (unsigned long long)job->seed);
    if (may_repeat && job->why == NULL) {
        unsigned times = 0;
        for (int at = 0; at < 3; at++)
            times += fails_alike(job->seed, NULL, kind);
        fprintf(stderr, "  %u of 3 times the same\n", times);
        if (times == 3 && is_one) {
            char *kept = shrink(job->seed, of->steps, kind);
            fprintf(stderr, "  these steps are enough: scripts/fuzz --round %llu --steps %s\n",
                (unsigned long long)job->seed, kept);
            g_free(kept);
        }
    }
    g_free(what);
    g_free(kind);
}

// MARK: All rounds

static Record total;

static void add_up(const Record *of)
{
    for (unsigned index = 0; index < MAX_FUNCTIONS; index++) {
        atomic_fetch_add(&total.calls[index], atomic_load(&of->calls[index]));
        atomic_fetch_add(&total.reached[index], atomic_load(&of->reached[index]));
    }
    for (unsigned index = 0; index < MAX_MESSAGES; index++)
        atomic_fetch_add(&total.messages[index], atomic_load(&of->messages[index]));
    for (unsigned index = 0; index < KINDS; index++)
        atomic_fetch_add(&total.objects[index], atomic_load(&of->objects[index]));
    atomic_fetch_add(&total.callbacks, atomic_load(&of->callbacks));
}

static bool print_figures(uint64_t seed, unsigned rounds, unsigned findings, bool judges_reach)
{
    unsigned calls = 0, reached = 0, objects = 0, messages = 0;
    bool is_complete = true;
    for (unsigned index = 0; index < fuzz_function_count; index++) {
        calls += total.calls[index];
        reached += total.reached[index] > 0;
        if (total.reached[index] == 0 && judges_reach) {
            fprintf(stderr, "fuzz: no call of %s was carried out\n", fuzz_functions[index].name);
            is_complete = false;
        }
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        objects += total.objects[kind];
    for (unsigned index = 0; index < fuzz_message_count; index++)
        messages += total.messages[index];
    printf("fuzz: seed %llu: %u rounds, %u calls, %u of %u functions reached, %u callbacks, %u objects, %u messages (",
        (unsigned long long)seed, rounds, calls, reached, fuzz_function_count, total.callbacks, objects, messages);
    bool is_first = true;
    for (unsigned index = 0; index < fuzz_message_count; index++)
        if (total.messages[index] > 0) {
            printf("%s%u %.24s", is_first ? "" : ", ", total.messages[index], fuzz_message_names[index]);
            is_first = false;
        }
    printf("), %u findings\n", findings);
    return is_complete;
}

static int play_all(uint64_t seed, unsigned seconds, unsigned jobs)
{
    Job running[MAX_JOBS] = {0};
    uint64_t end = now_in_microseconds() + seconds * (uint64_t)G_USEC_PER_SEC;
    unsigned rounds = 0, findings = 0, next = 0;
    GHashTable *kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (bool is_busy = true; is_busy;) {
        is_busy = false;
        for (unsigned at = 0; at < jobs; at++) {
            Job *job = &running[at];
            int status = 0;
            if (job->process != 0 && has_ended(job, &status)) {
                rounds++;
                add_up(job->record);
                if (!is_good(status)) {
                    findings++;
                    char *what = describe(job, status), *kind = kind_of(what);
                    if (g_hash_table_contains(kinds, kind))
                        fprintf(stderr, "fuzz: round %llu: %s\n", (unsigned long long)job->seed, what), g_free(kind);
                    else if (g_hash_table_size(kinds) < REPORTS)
                        report(job, status, true), g_hash_table_add(kinds, kind);
                    else
                        report(job, status, false), g_hash_table_add(kinds, kind);
                    g_free(what);
                }
                finish(job);
                job->process = 0;
            }
            if (job->process == 0 && now_in_microseconds() < end && findings < 10) {
                // The seeds of rounds are short, so that a person can type them.
                if (!start(job, random_mix(seed, next++) >> 24, NULL))
                    perror("fuzz"), exit(2);
            }
            is_busy |= job->process != 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    g_hash_table_unref(kinds);
    unsigned calls = 0;
    for (unsigned index = 0; index < fuzz_function_count; index++)
        calls += total.calls[index];
    bool is_complete = print_figures(seed, rounds, findings, findings == 0 && calls > 300 * fuzz_function_count);
    return findings > 0 || !is_complete;
}

int main(int count, char **arguments)
{
    uint64_t seed = 1, round = 0;
    unsigned seconds = 20, jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    int descriptor = -1;
    const char *kept = NULL;
    bool is_round = false;
    for (int at = 1; at + 1 < count; at += 2) {
        const char *value = arguments[at + 1];
        if (strcmp(arguments[at], "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else if (strcmp(arguments[at], "--seconds") == 0)
            seconds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(arguments[at], "--jobs") == 0)
            jobs = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(arguments[at], "--folder") == 0)
            folder = value;
        else if (strcmp(arguments[at], "--round") == 0)
            round = strtoull(value, NULL, 10), is_round = true;
        else if (strcmp(arguments[at], "--record") == 0)
            descriptor = atoi(value);
        else if (strcmp(arguments[at], "--steps") == 0)
            kept = *value != '\0' ? value : NULL;
        else
            return fprintf(stderr, "fuzz: what is %s?\n", arguments[at]), 2;
    }
    if (descriptor >= 0)
        play_round(round, kept, descriptor);
    if (!is_round)
        return play_all(seed, seconds, MIN(MAX(jobs, 1), MAX_JOBS));
    Job job;
    int status = 0;
    if (!start(&job, round, kept))
        return perror("fuzz"), 2;
    while (!has_ended(&job, &status))
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    if (is_good(status)) {
        add_up(job.record);
        print_figures(round, 1, 0, false);
    } else {
        report(&job, status, kept == NULL);
    }
    finish(&job);
    return !is_good(status);
}
