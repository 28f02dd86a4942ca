// SPDX-License-Identifier: Apache-2.0
// The protocol of message ports, implemented a second time and apart from the library: sound packets, other packets,
// and the test that tells them apart.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_ONE_WAY, WIRE_REQUEST, WIRE_REPLY, WIRE_UNANSWERED };
enum { WIRE_INLINE = 1 << 16, WIRE_DESCRIPTORS = 16, WIRE_MOST = 30 };

typedef struct {
    uint32_t magic;
    uint8_t version, kind;
    uint16_t flags;
    int32_t id;
    uint32_t conversation;
    uint64_t length;
} wire_header;

typedef struct {
    wire_header header;
    unsigned char *bytes;
    size_t size;
    /// How many bytes are sent. It is less than the size if the packet is cut.
    size_t sent;
    int descriptors[WIRE_MOST];
    unsigned count;
    /// The memory that is made shorter after it was sent; -1 if none is.
    int shrinks;
    bool is_sound;
    /// Whether a receiver that does not read the memory accepts the packet.
    bool is_sound_unread;
    /// The values that a receiver must find: the hash of the data, and the number of descriptors.
    uint64_t hash;
    unsigned with;
} wire_packet;

uint64_t wire_next(uint64_t *random);
/// Returns a number from 0 to the limit minus 1.
uint64_t wire_below(uint64_t *random, uint64_t limit);
uint64_t wire_hash(const void *bytes, size_t size);

/// Makes a packet for a port, or for a client that waits for a reply. Half of the packets are not sound.
void wire_make(uint64_t *random, bool for_port, wire_packet *packet);
void wire_free(wire_packet *packet);
/// Waits up to 10 s for room. Returns 0 or errno.
int wire_send(int socket, const wire_packet *packet);
/// As wire_send(), without waiting: EAGAIN if there is no room.
int wire_send_now(int socket, const wire_packet *packet);
/// Sends a packet of these parts, without waiting.
int wire_try_send(
    int socket, const wire_header *header, const void *bytes, size_t size, const int *descriptors, unsigned count);
/// Makes sealed memory. Its first `written` bytes are written, and the rest is a hole.
int wire_memory(size_t size, size_t written);
/// Waits for a packet for this time, and closes its descriptors. Returns the packet's size, 0 at the end of the
/// connection, or -1 after a timeout. `data` has room for 8 bytes.
int wire_receive(int socket, wire_header *header, unsigned char *data, int milliseconds);

/// Returns the socket, or -1 and errno.
int wire_connect(const char *path);
int wire_listen(const char *path);
/// Waits up to 10 s.
int wire_accept(int listener);

/// Makes the kernel kill this process when its parent ends.
void wire_end_with_parent(void);
