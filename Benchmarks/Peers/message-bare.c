// SPDX-License-Identifier: Apache-2.0
// Two processes that send requests and replies over SEQPACKET sockets, each with poll() before a read: the minimum cost
// of a message port. More than 64 KiB are sent in packets of that size, where a message port uses shared memory.
// usage: message-bare SIZE N

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 24, PACKET = 1 << 16 };

static char *bytes;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void wait_for(int socket, short events)
{
    struct pollfd record = { socket, events, 0 };
    poll(&record, 1, -1);
}

static void put(int socket, size_t size)
{
    do {
        size_t part = size > PACKET ? PACKET : size;
        while (send(socket, bytes, HEADER + part, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            wait_for(socket, POLLOUT);
        size -= part;
    } while (size > 0);
}

static int get(int socket, size_t size)
{
    size_t got = 0;
    do {
        wait_for(socket, POLLIN);
        ssize_t part = recv(socket, bytes, HEADER + PACKET, MSG_DONTWAIT);
        if (part <= 0)
            return 0;
        got += part - HEADER;
    } while (got < size);
    return 1;
}

int main(int count, char **arguments)
{
    size_t size = atol(arguments[1]), reply = size > PACKET ? 8 : size;
    long n = atol(arguments[2]);
    int ends[2];
    bytes = calloc(1, HEADER + PACKET);
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
    pid_t service = fork();
    if (service == 0) {
        close(ends[0]);
        while (get(ends[1], size))
            put(ends[1], reply);
        _exit(0);
    }
    close(ends[1]);
    double begin = now();
    for (long i = 0; i < n; i++) {
        put(ends[0], size);
        get(ends[0], reply);
    }
    printf("peer=bare case=message-port n=%ld ns_per_op=%.1f extra=-\n", n, (now() - begin) / n);
    close(ends[0]);
    waitpid(service, NULL, 0);
}
