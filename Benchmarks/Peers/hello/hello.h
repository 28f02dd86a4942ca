// Start-up: measures the time from exec to the first callback of a loop, and the memory at that time. Each measurement
// uses a new process of this program.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int64_t nanoseconds;
    long kilobytes;
} hello_t;

static inline int64_t hello_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline long hello_resident(void)
{
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "Rss: %ld", &kilobytes);
    return kilobytes;
}

// Called in the first callback.
static inline void hello_end(void)
{
    hello_t hello = {.nanoseconds = hello_now() - atoll(getenv("HELLO_BEGAN"))};
    hello.kilobytes = hello_resident();
    _exit(write(STDOUT_FILENO, &hello, sizeof hello) != sizeof hello);
}

static inline int hello_by_time(const void *a, const void *b)
{
    const hello_t *x = (const hello_t *)a, *y = (const hello_t *)b;
    return (x->nanoseconds > y->nanoseconds) - (x->nanoseconds < y->nanoseconds);
}

static inline hello_t hello_once(void)
{
    hello_t hello = {0, 0};
    int ends[2], status;
    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        char began[32];
        dup2(ends[1], STDOUT_FILENO);
        snprintf(began, sizeof began, "%lld", (long long)hello_now());
        setenv("HELLO_BEGAN", began, 1);
        execl("/proc/self/exe", "hello", (char *)NULL);
        _exit(2);
    }
    close(ends[1]);
    if (read(ends[0], &hello, sizeof hello) != sizeof hello || waitpid(child, &status, 0) != child || status != 0)
        exit(2);
    close(ends[0]);
    return hello;
}

// Returns in a process that must say hello. `hello N` starts N processes, and prints the median time.
static inline void hello_begin(int count, char **arguments, const char *peer)
{
    if (count < 3)
        return;
    long n = atol(arguments[2]);
    hello_t *all = (hello_t *)calloc(n, sizeof *all);
    for (long i = 0; i < n; i++)
        all[i] = hello_once();
    qsort(all, n, sizeof *all, hello_by_time);
    printf("peer=%s case=hello n=%ld ns_per_op=%lld extra=rss_kb:%ld\n", peer, n, (long long)all[n / 2].nanoseconds,
        all[n / 2].kilobytes);
    exit(0);
}
