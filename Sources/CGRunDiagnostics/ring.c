// SPDX-License-Identifier: Apache-2.0
// A ring of records, and the counts of items, for a timeline.
//
// One thread writes records without a lock, while other threads copy them. Each member of a record is copied
// atomically. If the writer overwrites records during the copy, the reader drops these records from the copy: `head`
// shows which records they are. The writer takes a lock only to replace memory, and to add or drop items. Readers hold
// this lock while they read.

#define _GNU_SOURCE

#include "cgrun-ring.h"

#include "cgrun.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_RECORDS = 256, FIRST_ITEMS = 64 };

typedef struct {
    /// The item's key; 0 if this entry is free.
    uint64_t key;
    /// The ring's `head` at the item's last callout. In a free entry, the next free number; 0 if there is none.
    uint64_t last;
    uint64_t labels;
    cgrun_counts counts;
} Item;

/// A callout that has not ended yet.
typedef struct {
    uint32_t item;
    int64_t since;
} Open;

struct cgrun_ring {
    cgrun_record *records;
    /// The number of records that were ever added. A new `head` is stored after the record, so all records before
    /// `head` are complete.
    uint64_t head;
    uint32_t size;
    uint32_t limit;

    uint64_t recording;
    uint32_t depth;
    const void *mode;
    uint16_t mode_number;
    /// The depth of the deepest open callout; 0 if no callout is open.
    uint32_t open_depth;
    Open open[CGRUN_RING_DEEPEST + 1];

    /// The items by their numbers. No item has the number 0.
    Item *items;
    uint32_t item_space;
    uint32_t item_end;
    uint32_t item_count;
    /// The first free number; 0 if there is none.
    uint32_t first_free;
    /// A hash table of the items' numbers by their keys. A free place holds 0. The count of places is a power of two,
    /// and at most half of the places are used.
    uint32_t *places;
    uint32_t place_count;

    /// Readers hold this lock while they read. The writer holds it while it replaces memory, or adds or drops items.
    pthread_mutex_t memory;
};

cgrun_ring *cgrun_ring_new(uint64_t recording, uint32_t limit)
{
    cgrun_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return NULL;
    ring->recording = recording;
    ring->limit = limit < FIRST_RECORDS ? FIRST_RECORDS : limit;
    ring->size = FIRST_RECORDS;
    ring->item_space = FIRST_ITEMS;
    ring->item_end = 1;
    ring->place_count = 2 * FIRST_ITEMS;
    ring->records = calloc(ring->size, sizeof *ring->records);
    ring->items = calloc(ring->item_space, sizeof *ring->items);
    ring->places = calloc(ring->place_count, sizeof *ring->places);
    pthread_mutex_init(&ring->memory, NULL);
    if (ring->records == NULL || ring->items == NULL || ring->places == NULL) {
        cgrun_ring_free(ring);
        return NULL;
    }
    return ring;
}

void cgrun_ring_free(cgrun_ring *ring)
{
    pthread_mutex_destroy(&ring->memory);
    free(ring->records);
    free(ring->items);
    free(ring->places);
    free(ring);
}

// MARK: Records

void cgrun_ring_set_depth(cgrun_ring *ring, uint32_t depth) { ring->depth = depth; }

void cgrun_ring_set_mode(cgrun_ring *ring, const void *mode, uint16_t number)
{
    ring->mode = mode;
    ring->mode_number = number;
}

#define PUT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define GET(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

static void copy_record(cgrun_record *to, const cgrun_record *from)
{
    PUT(to->time, GET(from->time));
    PUT(to->extra, GET(from->extra));
    PUT(to->item, GET(from->item));
    PUT(to->kind, GET(from->kind));
    PUT(to->depth, GET(from->depth));
    PUT(to->mode, GET(from->mode));
}

/// Doubles the size of a full ring. If there is no memory, the ring keeps its size forever.
__attribute__((noinline)) static void grow(cgrun_ring *ring)
{
    uint32_t size = ring->size * 2;
    cgrun_record *records = calloc(size, sizeof *records);
    if (records == NULL) {
        PUT(ring->limit, ring->size);
        return;
    }
    pthread_mutex_lock(&ring->memory);
    // No record was overwritten yet, so the first record is at the beginning of the old memory.
    memcpy(records, ring->records, ring->size * sizeof *records);
    free(ring->records);
    ring->records = records;
    ring->size = size;
    pthread_mutex_unlock(&ring->memory);
}

static void end_callout(cgrun_ring *ring, const Open *open, int64_t now)
{
    if (open->item == 0)
        return;
    cgrun_counts *counts = &ring->items[open->item].counts;
    int64_t span = now - open->since;
    PUT(counts->total, GET(counts->total) + span);
    if (span > GET(counts->longest))
        PUT(counts->longest, span);
}

/// Ends all open callouts of this depth and of greater depths.
static void end_callouts(cgrun_ring *ring, uint32_t depth, int64_t now)
{
    for (; ring->open_depth >= depth && ring->open_depth > 0; ring->open_depth--) {
        end_callout(ring, &ring->open[ring->open_depth], now);
        ring->open[ring->open_depth].item = 0;
    }
}

/// Begins a callout. Returns the callout's delay in nanoseconds.
static int64_t begin_callout(cgrun_ring *ring, uint32_t depth, uint32_t number, int64_t due, int64_t now)
{
    int64_t late = due != 0 && due < now ? now - due : 0;
    ring->open[depth] = (Open){.item = number, .since = now};
    ring->open_depth = depth;
    Item *item = &ring->items[number];
    item->last = ring->head;
    PUT(item->counts.calls, GET(item->counts.calls) + 1);
    if (late > GET(item->counts.latest))
        PUT(item->counts.latest, late);
    return late;
}

void cgrun_ring_put(cgrun_ring *ring, cgrun_record_kind kind, uint32_t item, int64_t extra)
{
    int64_t now = cgrun_now();
    uint32_t depth = ring->depth < CGRUN_RING_DEEPEST ? ring->depth : CGRUN_RING_DEEPEST;
    switch (kind) {
    case CGRUN_RECORD_POLL:
    case CGRUN_RECORD_POLLED:
        // If a run is on the stack, a poll inside an open callout belongs to a foreign loop. Any other poll belongs to
        // our own run, and is not recorded.
        if (depth != 0 && ring->open_depth != depth)
            return;
        break;
    case CGRUN_RECORD_ENTER:
    case CGRUN_RECORD_WOKEN:
        // These records do not end an open callout. A run that begins is deeper than the callout, and the loop that was
        // woken may be a foreign loop inside the callout.
        break;
    default:
        end_callouts(ring, depth, now);
    }
    if (kind == CGRUN_RECORD_CALLOUT) {
        // If the item's number belongs to another ring, it may be too large for this ring.
        if (item >= ring->item_end)
            item = 0;
        extra = begin_callout(ring, depth, item, extra, now);
    }
    if (ring->head == ring->size && ring->size < ring->limit)
        grow(ring);
    cgrun_record *record = &ring->records[ring->head & (ring->size - 1)];
    // If a reader sees a part of this record, it also sees the `head` that was stored after the previous record. The
    // fence guarantees this.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    PUT(record->time, now);
    PUT(record->extra, extra);
    PUT(record->item, item);
    PUT(record->kind, (uint8_t)kind);
    PUT(record->depth, (uint8_t)depth);
    PUT(record->mode, ring->mode_number);
    __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
}

bool cgrun_ring_put_in(cgrun_ring *ring, uint64_t recording, const void *mode, cgrun_record_kind kind, uint32_t item,
    int64_t extra)
{
    if (ring->recording != recording || ring->mode != mode)
        return false;
    cgrun_ring_put(ring, kind, item, extra);
    return true;
}

cgrun_record *cgrun_ring_copy(cgrun_ring *ring, uint64_t *count, uint64_t *lost)
{
    *count = *lost = 0;
    pthread_mutex_lock(&ring->memory);
    cgrun_record *copies = malloc(ring->size * sizeof *copies);
    uint64_t end = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    uint64_t begin = end > ring->size ? end - ring->size : 0;
    for (uint64_t index = begin; copies != NULL && index < end; index++)
        copy_record(&copies[index - begin], &ring->records[index & (ring->size - 1)]);
    // The writer may now be overwriting the oldest copied record. A ring that can still grow overwrites no record,
    // because the writer first waits for the lock to grow the ring.
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t now = GET(ring->head) + (ring->size < GET(ring->limit) ? 0 : 1);
    uint64_t first = now > ring->size ? now - ring->size : 0;
    pthread_mutex_unlock(&ring->memory);
    if (copies == NULL)
        return NULL;
    if (first > end)
        first = end;
    if (first > begin)
        memmove(copies, &copies[first - begin], (end - first) * sizeof *copies);
    else
        first = begin;
    *count = end - first;
    *lost = first;
    return copies;
}

// MARK: Items

/// Returns the place of a key in the hash table. If the table does not have the key, returns the place at which to
/// insert it.
static uint32_t place_of(const uint32_t *places, uint32_t place_count, const Item *items, uint64_t key)
{
    uint32_t place = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (place_count - 1);
    while (places[place] != 0 && items[places[place]].key != key)
        place = (place + 1) & (place_count - 1);
    return place;
}

static uint32_t number_of(const cgrun_ring *ring, uint64_t key)
{
    return ring->places[place_of(ring->places, ring->place_count, ring->items, key)];
}

uint32_t cgrun_ring_known_item(const cgrun_ring *ring, uint64_t key) { return number_of(ring, key); }

uint32_t cgrun_ring_item(const cgrun_ring *ring, uint64_t recording, uint64_t key, uint64_t labels)
{
    uint32_t number = ring->recording == recording ? number_of(ring, key) : 0;
    // An odd key contains the address of a closure's code. The key belongs to a callout without an item, which has no
    // label.
    return (key & 1) != 0 || ring->items[number].labels == labels ? number : 0;
}

uint32_t cgrun_ring_item_count(const cgrun_ring *ring) { return ring->item_count; }

/// Rebuilds the hash table with `place_count` places. Returns false if there is no memory. Call this function with the
/// lock held.
static bool place_all(cgrun_ring *ring, uint32_t place_count)
{
    uint32_t *places = calloc(place_count, sizeof *places);
    if (places == NULL)
        return false;
    for (uint32_t number = 1; number < ring->item_end; number++) {
        if (ring->items[number].key != 0)
            places[place_of(places, place_count, ring->items, ring->items[number].key)] = number;
    }
    free(ring->places);
    ring->places = places;
    ring->place_count = place_count;
    return true;
}

/// Makes room for one more item. Returns false if there is no memory. Call this function with the lock held.
static bool make_space(cgrun_ring *ring)
{
    if (ring->item_end < ring->item_space)
        return true;
    uint32_t space = ring->item_space * 2;
    Item *items = place_all(ring, space * 2) ? reallocarray(ring->items, space, sizeof *items) : NULL;
    if (items == NULL)
        return false;
    memset(&items[ring->item_space], 0, (space - ring->item_space) * sizeof *items);
    ring->items = items;
    ring->item_space = space;
    return true;
}

/// Returns a number that no item has; 0 if there is no memory. Call this function with the lock held.
static uint32_t free_number(cgrun_ring *ring)
{
    uint32_t number = ring->first_free;
    if (number == 0)
        return make_space(ring) ? ring->item_end++ : 0;
    ring->first_free = (uint32_t)ring->items[number].last;
    return number;
}

uint32_t cgrun_ring_add_item(cgrun_ring *ring, uint64_t key, uint64_t labels)
{
    uint32_t number = number_of(ring, key);
    if (number != 0) {
        ring->items[number].labels = labels;
        return number;
    }
    pthread_mutex_lock(&ring->memory);
    number = free_number(ring);
    if (number != 0) {
        ring->items[number] = (Item){.key = key, .last = ring->head, .labels = labels};
        ring->places[place_of(ring->places, ring->place_count, ring->items, key)] = number;
        ring->item_count++;
    }
    pthread_mutex_unlock(&ring->memory);
    return number;
}

void cgrun_ring_drop_items(cgrun_ring *ring, void (*dropped)(uint32_t number, void *data), void *data)
{
    pthread_mutex_lock(&ring->memory);
    for (uint32_t number = 1; number < ring->item_end; number++) {
        Item *item = &ring->items[number];
        if (item->key == 0 || item->last + ring->limit > ring->head)
            continue;
        bool is_open = false;
        for (uint32_t depth = 1; depth <= ring->open_depth; depth++)
            is_open |= ring->open[depth].item == number;
        if (is_open)
            continue;
        *item = (Item){.last = ring->first_free};
        ring->first_free = number;
        ring->item_count--;
        dropped(number, data);
    }
    place_all(ring, ring->place_count);
    pthread_mutex_unlock(&ring->memory);
}

static cgrun_counts copy_counts(const cgrun_counts *counts)
{
    return (cgrun_counts){.calls = GET(counts->calls), .total = GET(counts->total), .longest = GET(counts->longest),
        .latest = GET(counts->latest)};
}

cgrun_counts cgrun_ring_counts_of(cgrun_ring *ring, uint64_t key)
{
    pthread_mutex_lock(&ring->memory);
    uint32_t number = number_of(ring, key);
    cgrun_counts counts = number != 0 ? copy_counts(&ring->items[number].counts) : (cgrun_counts){0};
    pthread_mutex_unlock(&ring->memory);
    return counts;
}
