// SPDX-License-Identifier: Apache-2.0
// What message ports say to each other, once more and apart from the library: packets that are sound, packets that are
// not, and which is which.
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
    /// How many bytes of all are sent: fewer than there are if the packet is cut.
    size_t sent;
    int descriptors[WIRE_MOST];
    unsigned count;
    /// Made shorter once it is sent; -1 if none is.
    int shrinks;
    bool is_sound;
    /// Whether a receiver that does not look at the memory goes on.
    bool is_sound_unread;
    /// What a receiver finds: the hash of the data, and how many descriptors go along.
    uint64_t hash;
    unsigned with;
} wire_packet;

uint64_t wire_next(uint64_t *random);
/// From 0 to one less than the limit.
uint64_t wire_below(uint64_t *random, uint64_t limit);
uint64_t wire_hash(const void *bytes, size_t size);

/// A packet for a port, or for one who waits for a reply. Half of them are not sound.
void wire_make(uint64_t *random, bool for_port, wire_packet *packet);
void wire_free(wire_packet *packet);
/// Waits for room, 10 s at most. Returns 0 or errno.
int wire_send(int socket, const wire_packet *packet);
/// The same without waiting: EAGAIN if there is no room.
int wire_send_now(int socket, const wire_packet *packet);
/// A packet of these parts, without waiting.
int wire_try_send(
    int socket, const wire_header *header, const void *bytes, size_t size, const int *descriptors, unsigned count);
/// Sealed memory. Its first `written` bytes are written, and the rest is a hole.
int wire_memory(size_t size, size_t written);
/// Waits for a packet for so long, and closes what comes with it. Returns its size; 0 is the end, -1 none in time.
/// `data` has room for 8 bytes.
int wire_receive(int socket, wire_header *header, unsigned char *data, int milliseconds);

/// Returns the socket, or -1 and errno.
int wire_connect(const char *path);
int wire_listen(const char *path);
/// Waits 10 s at most.
int wire_accept(int listener);

/// Has this process killed when the one that has started it ends.
void wire_end_with_parent(void);
