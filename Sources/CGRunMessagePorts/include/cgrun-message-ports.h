// SPDX-License-Identifier: Apache-2.0
// The C functions of message ports: names, sockets, packets and the memory of large messages.
#ifndef CGRUN_MESSAGE_PORTS_H
#define CGRUN_MESSAGE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A forked child immediately closes its copies of the sockets, locks and directories of message ports (kept.c).
// Otherwise the copies would keep a name taken, and peers would wait for a port that does not exist any more.

/// Closes a descriptor that was returned by cgrun_port_directory(), cgrun_port_lock(), cgrun_port_listen(),
/// cgrun_port_accept() or cgrun_port_socket().
void cgrun_kept_close(int descriptor);

/// The folder of this process's descriptors. The path is not /proc/self/fd, which belongs to the main thread, because
/// that thread may have ended.
#define CGRUN_DESCRIPTOR_FILES "/proc/thread-self/fd"

/// The size of the name of a port's socket file, with the NUL at its end.
enum { CGRUN_PORT_FILE = 33 };
/// Copies to `file` the name of the socket file of the port `name`. The lock file has this name with ".lock" appended.
void cgrun_port_file(const char *name, char *file);
/// Opens the directory for the port names with O_PATH. If `makes` is true, makes the directory first. The directory may
/// be unsafe: see cgrun_port_directory_is_safe(). A forked child does not close this descriptor. This function, and the
/// functions below that return a descriptor, return -1 and errno on failure.
int cgrun_port_directory_open(int outer, const char *name, bool makes);
/// Returns whether only this user may use a directory.
bool cgrun_port_directory_is_safe(int directory);
/// Duplicates the descriptor of a directory. A forked child closes the duplicate.
int cgrun_port_directory(int directory);
/// Takes the lock of a port's name, and returns the descriptor of the lock file. EWOULDBLOCK: another port holds the
/// lock.
int cgrun_port_lock(int directory, const char *file);
/// Returns a socket that listens under a port's file name. An existing socket file is replaced. Call this function only
/// while the name's lock is held.
int cgrun_port_listen(int directory, const char *file);
/// Removes the socket file, if `lock` is still the descriptor of the name's lock file.
void cgrun_port_hide(int directory, const char *file, int lock);
/// Removes the socket file and the lock file, if `lock` is still the descriptor of the name's lock file. Always
/// releases the lock and closes `lock`.
void cgrun_port_unlock(int directory, const char *file, int lock);
/// Returns 1 if this process can tell other users from its own user, 0 if it cannot (users.c). Returns -1 and errno if
/// a shortage of descriptors or memory prevents the answer.
int cgrun_are_users_known(void);
/// Accepts the next peer, and returns its socket. EAGAIN: no peer waits. ECONNABORTED: the peer has gone, or was
/// refused because it may belong to another user.
int cgrun_port_accept(int listener);
/// Returns a socket that is not connected.
int cgrun_port_socket(void);
/// Connects a socket to the port with the socket file `file`. Returns false and errno on failure. ENOENT, ECONNREFUSED:
/// no port listens under this file. EAGAIN: too many peers wait to be accepted. EPERM: the port belongs to another
/// user.
bool cgrun_port_connect(int socket, int directory, const char *file);

/// The MessageNews object (ReplyReceiver.swift) of the innermost exchange for which this thread runs its loop; NULL if
/// the thread waits for no exchange.
const void *cgrun_waiting_exchange(void);
void cgrun_set_waiting_exchange(const void *exchange);

/// The header of each packet. It is in native byte order, because both ends are on one machine.
typedef struct {
    uint32_t magic;
    uint8_t version, kind;
    uint16_t flags;
    int32_t id;
    uint32_t conversation;
    uint64_t length;
} cgrun_packet;
/// The value of `magic` ("GRUN" in ASCII), the value of `version`, and the only flag in `flags`. The flag is set if the
/// first descriptor of the packet is memory that holds the packet's data.
enum { CGRUN_PACKET_MAGIC = 0x4E555247, CGRUN_PACKET_VERSION = 1, CGRUN_PACKET_IN_MEMORY = 1 };
/// The largest number of bytes that follow the header in a packet, and the largest number of descriptors.
enum { CGRUN_PACKET_INLINE = 1 << 16, CGRUN_PACKET_DESCRIPTORS = 17 };

// The functions below, except cgrun_packet_wait(), may be called with a lock held. So these functions are not
// cancellation points: if pthread_cancel() ended the thread there, the lock would stay locked.

/// Sends a packet with copies of the descriptors, without waiting. Returns 0 or errno. EAGAIN: the kernel's queue is
/// full.
int cgrun_packet_send(
    int socket, const cgrun_packet *packet, const void *bytes, size_t size, const int *descriptors, unsigned count);
/// Receives a packet without waiting, with at most CGRUN_PACKET_DESCRIPTORS descriptors. Returns its size, 0 at the end
/// of the connection, -1 and errno on failure. EBADMSG: the packet is too large, or has too many descriptors. EMFILE:
/// the process has no number left for one of the packet's descriptors.
ssize_t cgrun_packet_receive(int socket, void *bytes, size_t size, int *descriptors, unsigned *count);
/// Ends the connection, and discards the packets that were not received. Call this function before cgrun_kept_close(),
/// which would otherwise close the descriptors in these packets. A peer can make such a close slow, and fork() waits
/// for cgrun_kept_close().
void cgrun_packet_drain(int socket);
/// Returns whether the other end still exists. If the other end has gone, the packets that it sent before can still be
/// received.
bool cgrun_packet_is_connected(int socket);
/// Returns true if the other end has received every packet that was sent to it, or if a sandbox forbids the query.
bool cgrun_packet_all_taken(int socket);
/// Returns the id of the peer's process; 0 if the process is in another PID namespace.
int cgrun_packet_peer(int socket);
/// Ends the connection in both directions. This also wakes threads that poll the socket for packets.
void cgrun_packet_shut(int socket);
/// Waits until there may be room for a packet or the eventfd `event` is signalled, but at most for `nanoseconds`. If
/// `socket` or `event` is -1, the function does not wait for it. Call this function without a lock.
void cgrun_packet_wait(int socket, int event, int64_t nanoseconds);

/// Returns the descriptor of new memory with these bytes. The memory is sealed, so that no process can change it.
/// Returns -1 and errno on failure.
int cgrun_memory_new(const void *bytes, size_t size);
/// Maps the memory of a received message. The time is constant, because no page is accessed. Returns NULL and errno on
/// failure. EBADMSG: the sender could still change the memory, or the memory has another size or does not support
/// seals.
const void *cgrun_memory_map(int memory, uint64_t size);
/// If the sender has never written some page of mapped memory, replaces the whole mapping by zeros. Call this function
/// before the first read, which would otherwise allocate the missing page for this process. The call takes longer for
/// larger memory.
void cgrun_memory_clear_if_sparse(int memory, const void *bytes, uint64_t size);
void cgrun_memory_unmap(const void *bytes, uint64_t size);

#endif
