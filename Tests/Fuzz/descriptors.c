// SPDX-License-Identifier: Apache-2.0
// The descriptors of the sources: pipes, sockets, eventfds, files, closed ones. The fuzzer uses no descriptor that it
// does not own.
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 14 };
static struct {
    pthread_mutex_t lock;
    atomic_int descriptor;
} ours[COUNT];

// Uses numbers above those of the library, so that the library seldom reuses a closed one.
static int high(int descriptor)
{
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 200);
    close(descriptor);
    return copy;
}

static void open_at(int at)
{
    int two[2] = {-1, -1};
    int other = (at ^ 1) % COUNT;
    if (at < 8 && other < 8) {
        if ((at < 4 ? pipe2(two, O_NONBLOCK | O_CLOEXEC)
                    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, two)) != 0)
            return;
        atomic_store(&ours[at & ~1].descriptor, high(two[0]));
        atomic_store(&ours[at | 1].descriptor, high(two[1]));
    } else if (at == 8) {
        atomic_store(&ours[at].descriptor, high(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
    } else if (at == 9) {
        atomic_store(&ours[at].descriptor, high(open("/dev/null", O_RDWR | O_CLOEXEC)));
    } else {
        atomic_store(&ours[at].descriptor, high(eventfd(at & 1, EFD_NONBLOCK | EFD_CLOEXEC)));
    }
}

void descriptors_open(void)
{
    for (int at = 0; at < COUNT; at++) {
        pthread_mutex_init(&ours[at].lock, NULL);
        atomic_store(&ours[at].descriptor, -1);
    }
    for (int at = 0; at < COUNT; at++)
        if (atomic_load(&ours[at].descriptor) < 0)
            open_at(at);
}

const gint *descriptors_to_send(unsigned *count)
{
    // Descriptors that stay open, too many descriptors, and numbers without a file. The library reads no more than 17.
    static const gint some[17] = {0, 1}, odd[17] = {-1, 1000000};
    static const gint *const lists[] = {some, some, some, some, odd};
    static const unsigned counts[] = {2, 1, 0, 17, 2};
    unsigned list = random_below(G_N_ELEMENTS(lists));
    *count = counts[list];
    return lists[list];
}

int descriptors_pick(void)
{
    static const int odd[] = {-1, G_MININT, G_MAXINT, 1000000, 199, 2};
    if (random_chance(15))
        return odd[random_below(G_N_ELEMENTS(odd))];
    return atomic_load(&ours[random_below(COUNT)].descriptor);
}

void descriptors_touch(void)
{
    int at = (int)random_below(COUNT);
    char bytes[64] = {1};
    unsigned what = random_below(20);
    // The two descriptors of a pair share the first one's lock.
    pthread_mutex_lock(&ours[at < 8 ? at & ~1 : at].lock);
    int descriptor = atomic_load(&ours[at].descriptor);
    if (descriptor < 0) {
        if (at >= 8 || atomic_load(&ours[at ^ 1].descriptor) < 0)
            open_at(at);
    } else if (what < 9) {
        if (at != 8)
            (void)!write(descriptor, bytes, at >= 10 ? 8 : sizeof bytes);
    } else if (what < 18) {
        (void)!read(descriptor, bytes, sizeof bytes);
    } else if (what < 19) {
        atomic_store(&ours[at].descriptor, -1);
        close(descriptor);
    }
    pthread_mutex_unlock(&ours[at < 8 ? at & ~1 : at].lock);
}

void descriptors_close(void)
{
    for (int at = 0; at < COUNT; at++)
        if (atomic_load(&ours[at].descriptor) >= 0)
            close(atomic_exchange(&ours[at].descriptor, -1));
}

void descriptors_print(void)
{
    char path[64], target[256];
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        snprintf(path, sizeof path, "/proc/thread-self/fd/%d", descriptor);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length >= 0)
            fprintf(stderr, "descriptor %d: %.*s\n", descriptor, (int)length, target);
    }
}

unsigned descriptors_count(void)
{
    unsigned count = 0;
    // The list of the process is empty once the main thread has ended, so this uses the thread's list.
    DIR *folder = opendir("/proc/thread-self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count - 3;
}
