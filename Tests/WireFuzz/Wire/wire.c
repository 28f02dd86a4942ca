// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(sizeof(wire_header) == 24, "the header of a packet has 24 bytes");

uint64_t wire_next(uint64_t *random)
{
    uint64_t z = *random += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

uint64_t wire_below(uint64_t *random, uint64_t limit) { return wire_next(random) % limit; }

uint64_t wire_hash(const void *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t index = 0; index < size; index++)
        hash = (hash ^ ((const unsigned char *)bytes)[index]) * 0x100000001B3;
    return hash;
}

static bool one_in(uint64_t *random, uint64_t count) { return wire_below(random, count) == 0; }

static int must(int result, const char *what)
{
    if (result >= 0)
        return result;
    perror(what);
    abort();
}

// MARK: Memory

enum { NEEDED = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, EVERY = NEEDED | F_SEAL_SEAL | 0x10 };
typedef enum { WRITTEN, SPARSE, BESIDE, HUGE } filling;

// Makes memory with the packet's bytes and length, or broken memory. Sets whether it may be sent. If it has a hole, the
// receiver reads zeros, so the packet's bytes become zeros as well.
static int make_memory(uint64_t *random, bool is_broken, unsigned char *bytes, size_t size, bool *is_sound)
{
    int seals = NEEDED | (one_in(random, 2) ? F_SEAL_SEAL : 0);
    filling filling = WRITTEN;
    size_t length = size;
    if (is_broken) {
        switch (wire_below(random, 4)) {
        case 0: seals = wire_below(random, EVERY + 1); break;
        case 1: filling = 1 + wire_below(random, 3); break;
        default: length = one_in(random, 4) ? 0 : size + wire_below(random, 8193) - 4096; break;
        }
        if ((ssize_t)length < 0)
            length = 0;
    }
    int memory = -1;
    if (filling == HUGE)
        memory = memfd_create("wire", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (memory >= 0) {
        if (ftruncate(memory, size) != 0)
            must(ftruncate(memory, 2 << 20), "ftruncate");
    } else {
        memory = must(memfd_create("wire", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");
        must(ftruncate(memory, length), "ftruncate");
        if (filling == WRITTEN)
            must(pwrite(memory, bytes, length < size ? length : size, 0), "pwrite");
        // Writes behind the end of the file, where no receiver reads, and leaves a hole inside it.
        else if (filling == BESIDE)
            must(fallocate(memory, FALLOC_FL_KEEP_SIZE, (length + 4095) & ~4095ul, length + 4096), "fallocate");
    }
    must(fcntl(memory, F_ADD_SEALS, seals), "F_ADD_SEALS");
    if (filling != WRITTEN)
        memset(bytes, 0, size);
    *is_sound = (seals & NEEDED) == NEEDED && filling != HUGE && length == size;
    return memory;
}

int wire_memory(size_t size, size_t written)
{
    int memory = must(memfd_create("wire", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");
    must(ftruncate(memory, size), "ftruncate");
    size_t most = 1 << 20;
    void *bytes = memset(malloc(most), 0xFF, most);
    for (size_t offset = 0; offset < written; offset += most)
        must(pwrite(memory, bytes, written - offset < most ? written - offset : most, offset), "pwrite");
    free(bytes);
    must(fcntl(memory, F_ADD_SEALS, NEEDED | F_SEAL_SEAL), "F_ADD_SEALS");
    return memory;
}

// MARK: Descriptors of every kind

static int any_descriptor(uint64_t *random)
{
    int ends[2];
    switch (wire_below(random, 8)) {
    case 0:
        must(pipe2(ends, O_CLOEXEC), "pipe2");
        break;
    case 1:
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
        break;
    case 2: return must(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "open");
    case 3: return must(open("/", O_DIRECTORY | O_CLOEXEC), "open");
    case 4: return must(eventfd(0, EFD_CLOEXEC), "eventfd");
    case 5: return must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    case 6: return must(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), "open");
    default: return must(memfd_create("wire", MFD_CLOEXEC), "memfd_create");
    }
    close(ends[1]);
    return ends[0];
}

// MARK: Packets

static const uint64_t extremes[] = {
    0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x60000000, 0x60000001, 1ull << 63, -1ull};

static uint64_t extreme(uint64_t *random)
{
    return one_in(random, 2) ? wire_next(random) : extremes[wire_below(random, sizeof extremes / sizeof *extremes)];
}

static size_t any_size(uint64_t *random)
{
    switch (wire_below(random, 8)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return WIRE_INLINE - wire_below(random, 2);
    default: return wire_below(random, 3000);
    }
}

static void break_header(uint64_t *random, wire_header *header)
{
    switch (wire_below(random, 6)) {
    case 0: header->magic = one_in(random, 2) ? header->magic ^ 1u << wire_below(random, 32) : extreme(random); break;
    case 1: header->version = extreme(random); break;
    case 2: header->kind = one_in(random, 2) ? wire_below(random, 4) : extreme(random); break;
    case 3: header->flags = one_in(random, 2) ? wire_below(random, 4) : extreme(random); break;
    case 4: header->length = one_in(random, 2) ? header->length + 1 - wire_below(random, 3) : extreme(random); break;
    // Flips any bit of the header.
    default: ((unsigned char *)header)[wire_below(random, 24)] ^= 1 << wire_below(random, 8); break;
    }
}

static void break_size(uint64_t *random, wire_packet *packet)
{
    switch (wire_below(random, 4)) {
    case 0: packet->sent = 0; break;
    case 1: packet->sent = wire_below(random, packet->sent + 1); break;
    default:
        packet->size = one_in(random, 2) ? WIRE_INLINE + 1 + wire_below(random, 3000) : wire_below(random, 100);
        packet->bytes = realloc(packet->bytes, packet->size + 1);
        memset(packet->bytes, 7, packet->size);
        packet->sent = sizeof packet->header + packet->size;
        // At times the length field has the same value, which does not help if the packet is too long.
        if (one_in(random, 2))
            packet->header.length = packet->size;
    }
}

void wire_make(uint64_t *random, bool for_port, wire_packet *packet)
{
    bool in_memory = one_in(random, 3), is_broken = one_in(random, 2), memory_is_sound = false;
    // At times the data are as long as a huge page.
    size_t size = !in_memory ? any_size(random) : one_in(random, 30) ? 2 << 20 : 1 + wire_below(random, 200000);
    unsigned char *data = malloc(size + 1);
    for (size_t index = 0, seed = wire_next(random); index < size; index++)
        data[index] = seed * (index + 1) >> 24;
    *packet = (wire_packet){
        .header = {
            .magic = 0x4E555247, .version = 1, .kind = (for_port ? WIRE_ONE_WAY : WIRE_REPLY) + wire_below(random, 2),
            .flags = in_memory, .id = extreme(random), .conversation = extreme(random), .length = size},
        .shrinks = -1,
    };
    int breaks = is_broken ? wire_below(random, 4) : -1;
    if (in_memory && !(breaks == 2 && one_in(random, 3)))
        packet->descriptors[packet->count++] =
            make_memory(random, breaks == 2, data, size, &memory_is_sound);
    if (breaks == 2 && packet->count > 0 && !memory_is_sound && one_in(random, 2))
        packet->shrinks = packet->descriptors[0];
    unsigned most = breaks == 3 ? WIRE_MOST : one_in(random, 2) ? 0 : WIRE_DESCRIPTORS + packet->count;
    unsigned count = wire_below(random, most + 1);
    while (packet->count < count)
        packet->descriptors[packet->count++] = any_descriptor(random);
    packet->hash = wire_hash(data, size);
    if (in_memory) {
        free(data);
        packet->bytes = malloc(1);
    } else {
        packet->bytes = data;
        packet->size = size;
    }
    packet->sent = sizeof packet->header + packet->size;
    wire_header whole = packet->header;
    if (breaks == 0)
        break_header(random, &packet->header);
    if (breaks == 1)
        break_size(random, packet);

    const wire_header *header = &packet->header;
    unsigned taken = header->flags == 1;
    packet->with = packet->count - taken;
    bool has_right_header =
        packet->sent == sizeof *header + packet->size && header->magic == whole.magic && header->version == 1 &&
        (for_port ? header->kind <= WIRE_REQUEST : header->kind == WIRE_REPLY || header->kind == WIRE_UNANSWERED) &&
        packet->count <= WIRE_DESCRIPTORS + taken;
    bool has_right_bytes = header->flags == 0 && header->length == packet->size && packet->size <= WIRE_INLINE;
    packet->is_sound = has_right_header && (has_right_bytes || (header->flags == 1 && in_memory && memory_is_sound &&
                                                                packet->size == 0 && header->length == size));
    packet->is_sound_unread =
        has_right_header && (has_right_bytes || (header->flags == 1 && packet->size == 0 && packet->count > 0 &&
                                                 header->length > 0 && header->length <= 0x60000000));
    if (header->flags == 0)
        packet->hash = wire_hash(packet->bytes, packet->size);
}

void wire_free(wire_packet *packet)
{
    for (unsigned index = 0; index < packet->count; index++)
        close(packet->descriptors[index]);
    free(packet->bytes);
}

static bool is_ready(int socket, short events, int milliseconds)
{
    struct pollfd record = {socket, events, 0};
    int result;
    do
        result = poll(&record, 1, milliseconds);
    while (result < 0 && errno == EINTR);
    return result > 0;
}

static int send_parts(
    int socket, const void *header, size_t header_size, const void *bytes, size_t size, const int *descriptors,
    unsigned count)
{
    union {
        struct cmsghdr header;
        // The kernel accepts no more descriptors than this.
        char space[CMSG_SPACE(sizeof(int) * 253)];
    } control = {0};
    struct iovec parts[2] = {{(void *)header, header_size}, {(void *)bytes, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&control.header), descriptors, sizeof(int) * count);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

int wire_try_send(
    int socket, const wire_header *header, const void *bytes, size_t size, const int *descriptors, unsigned count)
{
    return send_parts(socket, header, sizeof *header, bytes, size, descriptors, count);
}

int wire_send_now(int socket, const wire_packet *packet)
{
    size_t first = packet->sent < sizeof packet->header ? packet->sent : sizeof packet->header;
    int error = send_parts(
        socket, &packet->header, first, packet->bytes, packet->sent - first, packet->descriptors, packet->count);
    if (error != 0)
        return error;
    // Sealed memory cannot be made shorter.
    bool has_shrunk = packet->shrinks >= 0 && ftruncate(packet->shrinks, 0) == 0;
    (void)has_shrunk;
    return 0;
}

int wire_send(int socket, const wire_packet *packet)
{
    while (true) {
        int error = wire_send_now(socket, packet);
        if (error != EAGAIN || !is_ready(socket, POLLOUT, 10000))
            return error;
    }
}

int wire_receive(int socket, wire_header *header, unsigned char *data, int milliseconds)
{
    static _Thread_local char rest[1 << 17];
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * 253)];
    } control;
    struct iovec parts[3] = {{header, sizeof *header}, {data, 8}, {rest, sizeof rest}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    ssize_t size;
    do {
        if (!is_ready(socket, POLLIN, milliseconds))
            return -1;
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        // The socket reports the reset once, before the packets that came earlier.
    } while (size < 0 && (errno == ECONNRESET || errno == EAGAIN || errno == EINTR));
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); size >= 0 && each; each = CMSG_NXTHDR(&message, each))
        for (size_t at = 0; at + CMSG_LEN(0) < each->cmsg_len; at += sizeof(int)) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(each) + at, sizeof descriptor);
            close(descriptor);
        }
    return size < 0 ? 0 : size;
}

// MARK: Sockets

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static int make_socket(void) { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

int wire_connect(const char *path)
{
    struct sockaddr_un address = address_of(path);
    int peer = make_socket();
    if (peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(peer);
        errno = error;
        return -1;
    }
    return peer;
}

int wire_listen(const char *path)
{
    struct sockaddr_un address = address_of(path);
    int listener = make_socket();
    unlink(path);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 8) == 0)
        return listener;
    close(listener);
    return -1;
}

int wire_accept(int listener)
{
    return is_ready(listener, POLLIN, 10000) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

void wire_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }
