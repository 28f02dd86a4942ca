// SPDX-License-Identifier: Apache-2.0
// Message ports: the packets of a socket, and sealed memory, which no process can change any more.

#define _GNU_SOURCE

#include "cgrun-message-ports.h"
#include "cgrun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// The headers of Linux before 6.3 do not have this flag.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

// MARK: Waits

static _Thread_local const void *waiting_exchange;

const void *cgrun_waiting_exchange(void) { return waiting_exchange; }

void cgrun_set_waiting_exchange(const void *exchange) { waiting_exchange = exchange; }

// MARK: Packets

_Static_assert(sizeof(cgrun_packet) == 24, "the header of a packet has 24 bytes");

int cgrun_packet_send(
    int socket, const cgrun_packet *packet, const void *bytes, size_t size, const int *descriptors, unsigned count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * CGRUN_PACKET_DESCRIPTORS)];
    } control = {0};
    struct iovec parts[2] = {{(void *)packet, sizeof *packet}, {(void *)bytes, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = size > 0 ? 2 : 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int) * count), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), descriptors, sizeof(int) * count);
    }
    long sent;
    do
        sent = syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

// If the other end has gone without having received everything, recvmsg(2) fails once with ECONNRESET. After that it
// returns the packets that the other end has sent.
static bool is_to_be_tried_again(void) { return errno == EINTR || errno == ECONNRESET; }

static void close_all(const int *descriptors, unsigned count)
{
    for (unsigned index = 0; index < count; index++)
        cgrun_close(descriptors[index]);
}

ssize_t cgrun_packet_receive(int socket, void *bytes, size_t size, int *descriptors, unsigned *count)
{
    union {
        struct cmsghdr header;
        // Room for one descriptor more than a packet may carry, so that a packet with too many descriptors is refused.
        char space[CMSG_SPACE(sizeof(int) * (CGRUN_PACKET_DESCRIPTORS + 1))];
    } control;
    struct iovec part = {bytes, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long received;
    do
        received = syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (received < 0 && is_to_be_tried_again());
    *count = 0;
    if (received < 0)
        return -1;
    unsigned found = 0;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
            continue;
        unsigned here = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (unsigned index = 0; index < here; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(each) + index * sizeof(int), sizeof descriptor);
            if (found < CGRUN_PACKET_DESCRIPTORS)
                descriptors[found++] = descriptor;
            else {
                cgrun_close(descriptor);
                message.msg_flags |= MSG_TRUNC;
            }
        }
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        close_all(descriptors, found);
        // MSG_CTRUNC: the kernel has delivered as many descriptors as there were free numbers, and dropped the others.
        errno = message.msg_flags & MSG_TRUNC ? EBADMSG : EMFILE;
        return -1;
    }
    *count = found;
    return received;
}

bool cgrun_packet_is_connected(int socket)
{
    GPollFD record = {.fd = socket};
    return cgrun_poll(&record, 1, 0) <= 0 || !(record.revents & (G_IO_HUP | G_IO_ERR));
}

void cgrun_packet_wait(int socket, int event, int64_t nanoseconds)
{
    GPollFD records[] = {{.fd = socket, .events = G_IO_OUT}, {.fd = event, .events = G_IO_IN}};
    cgrun_poll(records, 2, nanoseconds);
}

bool cgrun_packet_all_taken(int socket)
{
    int bytes = 0;
    // The kernel wakes the waiting sender before it subtracts the last byte of the received packet. So a number of
    // bytes that is less than the size of a header counts as zero. If a sandbox forbids the call, all packets count as
    // received. Otherwise the sender would wait forever.
    return syscall(SYS_ioctl, socket, SIOCOUTQ, &bytes) != 0 || (size_t)bytes < sizeof(cgrun_packet);
}

int cgrun_packet_peer(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

void cgrun_packet_shut(int socket) { shutdown(socket, SHUT_RDWR); }

void cgrun_packet_drain(int socket)
{
    // With SO_PASSCRED each packet has credentials, for which `message` has no room. So MSG_CTRUNC distinguishes an
    // empty packet from the end of the connection.
    int on = 1;
    struct msghdr message;
    long received;
    cgrun_packet_shut(socket);
    if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
        return;
    do {
        message = (struct msghdr){0};
        received = syscall(SYS_recvmsg, socket, &message, MSG_DONTWAIT);
    } while (received > 0 || (received == 0 && message.msg_flags & MSG_CTRUNC) ||
             (received < 0 && is_to_be_tried_again()));
}

// MARK: Memory

enum { SEALED = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static bool fill(int memory, const char *bytes, size_t size)
{
    while (size > 0) {
        long written = syscall(SYS_write, memory, bytes, size);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            size -= written;
        }
    }
    return true;
}

int cgrun_memory_new(const void *bytes, size_t size)
{
    int memory = memfd_create("grun-message", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    // Linux older than 6.3 does not know MFD_NOEXEC_SEAL.
    if (memory < 0 && errno == EINVAL)
        memory = memfd_create("grun-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0)
        return -1;
    if (fill(memory, bytes, size) && fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | SEALED) == 0)
        return memory;
    int error = errno;
    cgrun_close(memory);
    errno = error;
    return -1;
}

const void *cgrun_memory_map(int memory, uint64_t size)
{
    struct stat status;
    struct statfs system;
    int seals = fcntl(memory, F_GET_SEALS);
    // Without the seals the sender could change pages while this process reads them, or remove pages, which causes a
    // SIGBUS. A file of huge pages is also refused, because a read causes a SIGBUS if no huge page is free.
    if (seals < 0 || (seals & SEALED) != SEALED || fstat(memory, &status) != 0 || fstatfs(memory, &system) != 0 ||
        system.f_type != TMPFS_MAGIC || (uint64_t)status.st_size != size) {
        errno = EBADMSG;
        return NULL;
    }
    // The mapping is private, because before Linux 6.7 the kernel refuses shared mappings of sealed memory, even for
    // reading. No page is mapped in advance, because the memory may never be read.
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, memory, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void cgrun_memory_unmap(const void *bytes, uint64_t size) { munmap((void *)bytes, size); }
