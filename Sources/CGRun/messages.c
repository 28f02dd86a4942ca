// SPDX-License-Identifier: Apache-2.0
// Message ports: a name in a directory, packets of a socket, and memory that nobody can change any more.

#define _GNU_SOURCE

#include "cgrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

// Headers older than Linux 6.3 do not have it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

// MARK: Descriptors that a forked child does not keep

// A bit for each number. Guarded by the mutex, under which such descriptors are made and closed as well: a child is
// forked before or after that. syscall(), since libc's functions are points at which pthread_cancel() ends a thread.
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long *kept;
static unsigned kept_words;
enum { WORD = sizeof(unsigned long) * CHAR_BIT };

static void before_fork(void) { pthread_mutex_lock(&kept_mutex); }

static void after_fork(void) { pthread_mutex_unlock(&kept_mutex); }

static void after_fork_in_child(void)
{
    for (unsigned word = 0; word < kept_words; word++)
        for (; kept[word] != 0; kept[word] &= kept[word] - 1)
            syscall(SYS_close, word * WORD + __builtin_ctzl(kept[word]));
    pthread_mutex_unlock(&kept_mutex);
}

static void watch_fork(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

static void begin_keeping(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&kept_mutex);
}

// Returns the descriptor, and leaves errno as it is.
static int end_keeping(int descriptor)
{
    if (descriptor >= 0) {
        unsigned word = descriptor / WORD;
        if (word >= kept_words) {
            unsigned words = MAX(word + 1, 2 * kept_words);
            kept = g_renew(unsigned long, kept, words);
            memset(kept + kept_words, 0, (words - kept_words) * sizeof *kept);
            kept_words = words;
        }
        kept[word] |= 1ul << descriptor % WORD;
    }
    pthread_mutex_unlock(&kept_mutex);
    return descriptor;
}

void cgrun_kept_close(int descriptor)
{
    pthread_mutex_lock(&kept_mutex);
    unsigned long bit = 1ul << descriptor % WORD;
    // Not so in a forked child, where the number may be another file's.
    if (kept[descriptor / WORD] & bit) {
        kept[descriptor / WORD] &= ~bit;
        syscall(SYS_close, descriptor);
    }
    pthread_mutex_unlock(&kept_mutex);
}

static int keep_socket(void)
{
    begin_keeping();
    return end_keeping(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// MARK: Names

void cgrun_port_file(const char *name, char *file)
{
    char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
    g_strlcpy(file, hash, CGRUN_PORT_FILE);
    g_free(hash);
}

int cgrun_port_directory(int directory)
{
    begin_keeping();
    return end_keeping(syscall(SYS_fcntl, directory, F_DUPFD_CLOEXEC, 0));
}

enum { LOCK_FILE = CGRUN_PORT_FILE + 8 };

static void name_lock(char *name, const char *file) { snprintf(name, LOCK_FILE, "%s.lock", file); }

static bool is_same_file(int descriptor, int directory, const char *file)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && fstatat(directory, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int cgrun_port_lock(int directory, const char *file)
{
    char name[LOCK_FILE];
    name_lock(name, file);
    // Who tidies up the directory may have removed the file between the two calls: then it locks nothing.
    for (int tries = 0; tries < 100; tries++) {
        begin_keeping();
        // The sticky bit says that it is not to be tidied up.
        int lock = end_keeping(syscall(
            SYS_openat, directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_ISVTX | 0600));
        if (lock < 0)
            return -1;
        int error = flock(lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (error == 0 && is_same_file(lock, directory, name))
            return lock;
        cgrun_kept_close(lock);
        if (error != 0) {
            errno = error;
            return -1;
        }
    }
    errno = ESTALE;
    return -1;
}

// By the directory's descriptor: the path may be longer than an address can be, and may lead elsewhere by now.
static void address_of(struct sockaddr_un *address, int directory, const char *file)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", directory, file);
}

int cgrun_port_listen(int directory, const char *file)
{
    struct sockaddr_un address;
    address_of(&address, directory, file);
    int listener = keep_socket();
    if (listener < 0)
        return -1;
    // What a killed owner has left.
    if (unlinkat(directory, file, 0) != 0 && errno != ENOENT)
        goto failed;
    // The file is made with the mode of the socket.
    if (fchmod(listener, 0600) != 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0)
        goto failed;
    if (listen(listener, SOMAXCONN) == 0)
        return listener;
failed:;
    int error = errno;
    cgrun_kept_close(listener);
    errno = error;
    return -1;
}

void cgrun_port_unlink(int directory, const char *file, int lock)
{
    char name[LOCK_FILE];
    name_lock(name, file);
    // If somebody has removed the lock's file, the name may be another's by now.
    if (is_same_file(lock, directory, name))
        unlinkat(directory, file, 0);
}

static bool is_of_this_user(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int cgrun_port_accept(int listener)
{
    begin_keeping();
    int peer = end_keeping(syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer < 0 || is_of_this_user(peer))
        return peer;
    cgrun_kept_close(peer);
    errno = EPERM;
    return -1;
}

int cgrun_port_socket(void) { return keep_socket(); }

bool cgrun_port_connect(int socket, int directory, const char *file)
{
    struct sockaddr_un address;
    address_of(&address, directory, file);
    if (syscall(SYS_connect, socket, &address, sizeof address) != 0)
        return false;
    if (is_of_this_user(socket))
        return true;
    errno = EPERM;
    return false;
}

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

// ECONNRESET is said once, before what was sent before: that the other end has gone without having read everything.
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
        // Room for one too many, which is noticed by it.
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
        // The kernel gives those for which there are numbers left, and drops the others.
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
    // The kernel wakes who waits for room before it subtracts the last byte of the packet that was taken. Where a
    // sandbox forbids the question, all counts as taken: the sender would wait for ever otherwise.
    return syscall(SYS_ioctl, socket, SIOCOUTQ, &bytes) != 0 || (size_t)bytes < sizeof(cgrun_packet);
}

int cgrun_packet_peer(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

void cgrun_packet_shut(int socket) { shutdown(socket, SHUT_RDWR); }

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
    // Linux older than 6.3 does not know the last one.
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
    // Else the sender could take pages away while they are read, which is a SIGBUS, or change them. One of huge pages
    // may have no page for its bytes, which is a SIGBUS, too.
    if (seals < 0 || (seals & SEALED) != SEALED || fstat(memory, &status) != 0 || fstatfs(memory, &system) != 0 ||
        system.f_type != TMPFS_MAGIC || (uint64_t)status.st_size != size) {
        errno = EBADMSG;
        return NULL;
    }
    // Private: shared ones of sealed memory are refused before Linux 6.7, also for reading. No page is mapped here:
    // nobody may ever read this.
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, memory, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void cgrun_memory_clear_if_sparse(int memory, const void *bytes, uint64_t size)
{
    // The number of blocks does not tell: they may be behind the end of the file.
    if (lseek(memory, 0, SEEK_HOLE) == (off_t)size)
        return;
    // To read these zeros makes no page. If the process cannot have another mapping the holes stay, and cost it pages.
    mmap((void *)bytes, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void cgrun_memory_unmap(const void *bytes, uint64_t size) { munmap((void *)bytes, size); }
