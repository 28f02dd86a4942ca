// SPDX-License-Identifier: Apache-2.0
// The names of message ports: in a directory of the user's, a lock and a socket for each.

#define _GNU_SOURCE

#include "cgrun.h"
#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

void cgrun_port_file(const char *name, char *file)
{
    char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
    g_strlcpy(file, hash, CGRUN_PORT_FILE);
    g_free(hash);
}

int cgrun_port_directory(int directory)
{
    cgrun_begin_keeping();
    return cgrun_end_keeping(syscall(SYS_fcntl, directory, F_DUPFD_CLOEXEC, 0));
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
        cgrun_begin_keeping();
        // The sticky bit says that it is not to be tidied up.
        int lock = cgrun_end_keeping(syscall(
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

int cgrun_port_socket(void)
{
    cgrun_begin_keeping();
    return cgrun_end_keeping(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int cgrun_port_listen(int directory, const char *file)
{
    struct sockaddr_un address;
    address_of(&address, directory, file);
    int listener = cgrun_port_socket();
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
    cgrun_begin_keeping();
    int peer = cgrun_end_keeping(syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer < 0 || is_of_this_user(peer))
        return peer;
    cgrun_kept_close(peer);
    errno = EPERM;
    return -1;
}

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
