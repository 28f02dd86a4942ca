// SPDX-License-Identifier: Apache-2.0
// A round: threads make random calls in steps. Afterwards everything is released, and must be freed.
#include "fuzz.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Round the_round;
atomic_bool is_over, is_calm, must_finish[8];
atomic_int threads_left;

uint64_t now_in_microseconds(void) { return (uint64_t)g_get_monotonic_time(); }

// MARK: Steps

static void take_steps(int index)
{
    Thread *self = thread_self();
    self->index = index;
    self->base = grun_loop_get_current();
    for (unsigned step = 0; step < the_round.steps; step++) {
        if (now_in_microseconds() > the_round.deadline || atomic_load(&must_finish[index]))
            break;
        if (the_round.kept_steps != NULL && (step >= MAX_STEPS || !the_round.kept_steps[step]))
            continue;
        self->random = random_mix(random_mix(the_round.seed, (uint64_t)index), step);
        record_step(step);
        call_at_random();
    }
}

static gpointer thread_main(gpointer number)
{
    int index = GPOINTER_TO_INT(number);
    Thread *self = thread_self();
    self->index = index;
    self->random = random_mix(the_round.seed, 1000 + (uint64_t)index);
    GMainContext *own = random_chance(50) ? g_main_context_new() : NULL;
    if (own != NULL)
        g_main_context_push_thread_default(own);
    owners_add(grun_loop_get_current(), OWNER_ROUND, index);
    pool_add(KIND_LOOP, grun_loop_ref(grun_loop_get_current()));
    take_steps(index);
    if (own != NULL) {
        g_main_context_pop_thread_default(own);
        g_main_context_unref(own);
    }
    // The remaining items of the loop end with the thread, and their callbacks still make calls.
    return NULL;
}

// MARK: The end

static unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void wait_for_threads(unsigned before)
{
    uint64_t limit = now_in_microseconds() + (IS_SANITIZED ? 20 : 5) * G_USEC_PER_SEC;
    while (count_threads() > before) {
        owners_stop_library();
        if (now_in_microseconds() > limit)
            fuzz_fail("at the end: %u threads more than before", count_threads() - before);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

// The sanitizers do not support joining the main thread.
static bool has_main_thread_ended(void)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    (void)!fgets(line, sizeof line, file);
    fclose(file);
    const char *after = strrchr(line, ')');
    return after != NULL && strncmp(after, ") Z", 3) == 0;
}

static unsigned descriptors_before, threads_before;

static void *close_account(void *unused)
{
    while (!has_main_thread_ended())
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&is_over, true);
    pool_drop_all();
    // The zombie main thread is still counted. The keeper and this thread are new.
    wait_for_threads(threads_before + 2);
    // Drops what the last callbacks have added.
    pool_drop_all();
    ports_drop_all();
    keeper_stop();
    owners_drop_all();
    data_check_all();
    messages_check_all();
    bytes_check_all();
    descriptors_close();
    children_end();
    wait_for_threads(threads_before + 1);
    unsigned left = descriptors_count();
    // A sanitizer that looks up symbol names keeps pipes to its helper process.
    if (left > descriptors_before && !IS_SANITIZED) {
        descriptors_print();
        fuzz_fail("at the end: %u descriptors, %u before", left, descriptors_before);
    }
    exit(0);
    return unused;
}

static gboolean nothing(gpointer unused)
{
    (void)unused;
    return G_SOURCE_REMOVE;
}

static void in_virtual_time(GRunLoop *loop, gpointer unused)
{
    (void)unused;
    grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0, FALSE);
}

// Creates everything that is created once and kept, before the round counts threads and descriptors.
static void warm_up(void)
{
    GRunLoop *loop = grun_loop_get_main();
    g_idle_add(nothing, NULL);
    grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0.0001, FALSE);
    g_main_context_iteration(NULL, FALSE);
    GRunThread *thread = grun_thread_new("warm", NULL, NULL, NULL);
    grun_thread_stop(thread);
    grun_thread_wait(thread);
    grun_thread_unref(thread);
    grun_with_virtual_time(0, in_virtual_time, NULL);
    // The first message in the log may allocate.
    g_free(g_strdup_printf("%d", 1));
}

void round_play(void)
{
    Thread *self = thread_self();
    self->index = 0;
    self->base = grun_loop_get_main();
    log_capture();
    warm_up();
    descriptors_before = descriptors_count(), threads_before = count_threads();
    // With one thread, the library may start no thread, so that the round is repeatable.
    atomic_store(&threads_left, the_round.threads + the_round.main_takes_part == 1 ? 0 : 6);
    descriptors_open();
    bytes_make();
    keeper_start();
    owners_add(grun_loop_get_main(), OWNER_MAIN, 0);
    record->threads = the_round.threads;
    record->main_takes_part = the_round.main_takes_part;
    record->steps = the_round.steps;

    GThread *round_threads[8];
    for (int index = 0; index < the_round.threads; index++)
        round_threads[index] = g_thread_new("round", thread_main, GINT_TO_POINTER(index + 1));
    if (the_round.main_takes_part)
        take_steps(0);
    for (int index = 0; index < the_round.threads; index++)
        g_thread_join(round_threads[index]);
    // The main thread ends as well, which ends its loop. Another thread makes the final checks.
    pthread_t closer;
    pthread_create(&closer, NULL, close_account, NULL);
    pthread_exit(NULL);
}
