// SPDX-License-Identifier: Apache-2.0
// The names of message ports. A name has a lock file and a socket file in a directory of the user.

#define _GNU_SOURCE

#include "cgrun-message-ports.h"
#include "cgrun.h"
#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// The sticky bit tells systemd-tmpfiles not to remove the lock file.
enum { DIRECTORY_MODE = 0700, LOCK_MODE = S_ISVTX | 0600, SOCKET_MODE = 0600 };

// fchmod() does not work for a descriptor that was opened with O_PATH, so this function uses the descriptor's path in
// /proc.
static bool set_mode(int descriptor, mode_t mode)
{
    char path[sizeof CGRUN_DESCRIPTOR_FILES + 12];
    snprintf(path, sizeof path, CGRUN_DESCRIPTOR_FILES "/%d", descriptor);
    return chmod(path, mode) == 0;
}

// Sets the mode of a file, even if the file's mode forbids this user to open it. Does not follow a symbolic link.
static bool set_file_mode(int directory, const char *file, mode_t mode)
{
    int found = openat(directory, file, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (found < 0)
        return false;
    bool is_set = set_mode(found, mode);
    int error = errno;
    cgrun_close(found);
    errno = error;
    return is_set;
}

// MARK: The directory

static bool is_only_for_this_user(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & 077) == 0;
}

int cgrun_port_directory_open(int outer, const char *name, bool makes)
{
    if (makes && mkdirat(outer, name, DIRECTORY_MODE) != 0 && errno != EEXIST)
        return -1;
    // With O_PATH, this call works even if the directory is not readable.
    int directory = openat(outer, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (directory < 0 || fstat(directory, &status) != 0)
        return directory;
    // If the owner's bits are missing in the directory's mode, a umask has removed them. The process that made the
    // directory has not set the mode yet, or was killed before. If other users may enter the directory, its mode stays
    // as it is, because they may have put files into the directory.
    if (is_only_for_this_user(&status) && (status.st_mode & DIRECTORY_MODE) != DIRECTORY_MODE &&
        !set_mode(directory, DIRECTORY_MODE)) {
        int error = errno;
        cgrun_close(directory);
        errno = error;
        return -1;
    }
    return directory;
}

bool cgrun_port_directory_is_safe(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && is_only_for_this_user(&status) &&
           (status.st_mode & DIRECTORY_MODE) == DIRECTORY_MODE;
}

int cgrun_port_directory(int directory)
{
    cgrun_begin_keeping();
    return cgrun_end_keeping(syscall(SYS_fcntl, directory, F_DUPFD_CLOEXEC, 0));
}

// MARK: The lock

void cgrun_port_file(const char *name, char *file)
{
    char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
    g_strlcpy(file, hash, CGRUN_PORT_FILE);
    g_free(hash);
}

enum { LOCK_FILE = CGRUN_PORT_FILE + 8 };

static void name_lock(char *name, const char *file) { snprintf(name, LOCK_FILE, "%s.lock", file); }

static bool is_same_file(int descriptor, int directory, const char *file)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && fstatat(directory, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static int make_or_open_lock(int directory, const char *name)
{
    cgrun_begin_keeping();
    return cgrun_end_keeping(syscall(
        SYS_openat, directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, LOCK_MODE));
}

static int open_lock(int directory, const char *name)
{
    int lock = make_or_open_lock(directory, name);
    // EACCES: a umask has removed the owner's bits from the mode of the lock file. The process that made the file has
    // not set the mode yet, or was killed before.
    if (lock < 0 && errno == EACCES && set_file_mode(directory, name, LOCK_MODE))
        lock = make_or_open_lock(directory, name);
    return lock;
}

int cgrun_port_lock(int directory, const char *file)
{
    char name[LOCK_FILE];
    name_lock(name, file);
    for (int tries = 0; tries < 1000; tries++) {
        int lock = open_lock(directory, name);
        if (lock < 0)
            return -1;
        int error = flock(lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        // The former owner of the name, or a program that tidies up, may have removed the file since this thread opened
        // it. Then the lock of the opened file has no meaning, even if another process holds it.
        bool is_current = is_same_file(lock, directory, name);
        if (is_current && error == 0) {
            fchmod(lock, LOCK_MODE);
            return lock;
        }
        cgrun_kept_close(lock);
        if (is_current || (error != 0 && error != EWOULDBLOCK)) {
            errno = error;
            return -1;
        }
    }
    errno = ESTALE;
    return -1;
}

void cgrun_port_hide(int directory, const char *file, int lock)
{
    char name[LOCK_FILE];
    name_lock(name, file);
    // If the lock file was removed, the name may belong to another port now.
    if (is_same_file(lock, directory, name))
        unlinkat(directory, file, 0);
}

void cgrun_port_unlock(int directory, const char *file, int lock)
{
    char name[LOCK_FILE];
    name_lock(name, file);
    if (is_same_file(lock, directory, name)) {
        // Remove the socket file first. As soon as the lock file is removed, another port can take the name and create
        // both files again.
        unlinkat(directory, file, 0);
        unlinkat(directory, name, 0);
    }
    // A child that is being spawned may have a copy of the descriptor. Then closing the descriptor does not release the
    // lock.
    flock(lock, LOCK_UN);
    cgrun_kept_close(lock);
}

// MARK: The socket

// The address uses the directory's descriptor, because the directory's path may be too long for an address. Also, the
// path may name another directory by now.
static void address_of(struct sockaddr_un *address, int directory, const char *file)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, CGRUN_DESCRIPTOR_FILES "/%d/%s", directory, file);
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
    // A former owner that was killed may have left its socket file.
    if (unlinkat(directory, file, 0) != 0 && errno != ENOENT)
        goto failed;
    // bind() makes the file with the mode of the socket, less the umask.
    if (fchmod(listener, SOCKET_MODE) != 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        !set_file_mode(directory, file, SOCKET_MODE))
        goto failed;
    if (listen(listener, SOMAXCONN) == 0)
        return listener;
failed:;
    int error = errno;
    cgrun_kept_close(listener);
    errno = error;
    return -1;
}

static bool is_of_this_user(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int cgrun_port_accept(int listener)
{
    // This check precedes accept4(2), because a failure of the check after that call would lose an accepted peer.
    int are_users_known = cgrun_are_users_known();
    if (are_users_known < 0)
        return -1;
    cgrun_begin_keeping();
    int peer = cgrun_end_keeping(syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer < 0 || (are_users_known && is_of_this_user(peer)))
        return peer;
    cgrun_kept_close(peer);
    // The errno is ECONNABORTED and not EPERM, because a sandbox that forbids accept4(2) returns EPERM.
    errno = ECONNABORTED;
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
