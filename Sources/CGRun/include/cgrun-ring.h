// SPDX-License-Identifier: Apache-2.0
// What a loop did, for a timeline: a ring of records with one writer, the loop's thread, and the counts of its items.
#ifndef CGRUN_RING_H
#define CGRUN_RING_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

/// What happened. A callout and a sleep last until the next record that is no deeper.
typedef enum {
    /// A run, or a host's dispatch of the loop, goes on the stack: the depth counts it. `extra`: a cgrun_driver.
    CGRUN_RECORD_ENTER,
    /// It leaves the stack: the depth still counts it. `extra`: the same.
    CGRUN_RECORD_LEAVE,
    /// `extra`: the stage.
    CGRUN_RECORD_STAGE,
    /// `item`, and `extra`: how late, in nanoseconds. What is given is when it was due, or 0.
    CGRUN_RECORD_CALLOUT,
    /// The loop sleeps.
    CGRUN_RECORD_SLEEP,
    /// It is awake.
    CGRUN_RECORD_AWAKE,
    /// A thread has ended the sleep: `item` is the thread, `extra` when it did.
    CGRUN_RECORD_WOKEN,
    /// A host's iteration polls, and has polled: outside of all runs, or in a foreign loop inside a callout.
    CGRUN_RECORD_POLL,
    CGRUN_RECORD_POLLED
} cgrun_record_kind;

typedef enum {
    /// A run of ours; in a callback of a host's; a host's dispatch.
    CGRUN_DRIVER_LOOP,
    CGRUN_DRIVER_LOOP_IN_HOST,
    CGRUN_DRIVER_HOST
} cgrun_driver;

typedef struct {
    int64_t time;
    int64_t extra;
    uint32_t item;
    uint8_t kind;
    /// How many runs were on the stack; 255 for more.
    uint8_t depth;
    /// The mode of the innermost one, as Swift numbers them.
    uint16_t mode;
} cgrun_record;

/// What an item cost. Times in nanoseconds.
typedef struct {
    uint64_t calls;
    int64_t total;
    int64_t longest;
    int64_t latest;
} cgrun_counts;

typedef struct cgrun_ring cgrun_ring;
enum { CGRUN_RING_DEEPEST = 255 };

/// A ring that keeps the last so many records, a power of two; it begins small. It belongs to the recording with that
/// number. NULL without memory.
cgrun_ring *cgrun_ring_new(uint64_t recording, uint32_t limit);
void cgrun_ring_free(cgrun_ring *ring);

// MARK: On the loop's thread

/// What the next records are of.
void cgrun_ring_set_depth(cgrun_ring *ring, uint32_t depth);
/// A mode, and its number.
void cgrun_ring_set_mode(cgrun_ring *ring, const void *mode, uint16_t number);
/// Now. Reads the clock.
void cgrun_ring_put(cgrun_ring *ring, cgrun_record_kind kind, uint32_t item, int64_t extra);
/// The same if the ring is of that recording and its mode is that one; false: nothing was put.
bool cgrun_ring_put_in(cgrun_ring *ring, uint64_t recording, const void *mode, cgrun_record_kind kind, uint32_t item,
    int64_t extra);
/// The number of an item, in a ring of that recording, whose label was read when so many had been given; else 0.
uint32_t cgrun_ring_item(const cgrun_ring *ring, uint64_t recording, uint64_t key, uint64_t labels);

/// The number of an item, whatever its label; 0 if it has none.
uint32_t cgrun_ring_known_item(const cgrun_ring *ring, uint64_t key);
/// Numbers an item, whose number it returns; 0 without memory. One that has a number keeps it.
uint32_t cgrun_ring_add_item(cgrun_ring *ring, uint64_t key, uint64_t labels);
/// Forgets the items of which the ring has no record any more. Calls the function with the number of each.
void cgrun_ring_drop_items(cgrun_ring *ring, void (*dropped)(uint32_t number, void *data), void *data);
uint32_t cgrun_ring_item_count(const cgrun_ring *ring);

// MARK: Any thread

/// Copies the records, the earliest first; as many as returned, to be freed. `lost`: how many there were before them.
cgrun_record *cgrun_ring_copy(cgrun_ring *ring, uint64_t *count, uint64_t *lost);
/// What the item of a key has cost so far; zero calls if it is not known. While a callout of it goes on, without that
/// one's time.
cgrun_counts cgrun_ring_counts_of(cgrun_ring *ring, uint64_t key);

// MARK: The page

/// What stands where the records are to be.
#define CGRUN_TIMELINE_WORD "@TIMELINE@"
enum { cgrun_timeline_page_word = sizeof CGRUN_TIMELINE_WORD - 1 };
extern const void *const cgrun_timeline_page __attribute__((visibility("hidden")));
extern const size_t cgrun_timeline_page_size __attribute__((visibility("hidden")));
size_t cgrun_timeline_page_place(void);
/// What GRUN_TIMELINE says, with the number of the process in the place of each "%p", to be freed; NULL if it is not
/// set, or empty.
char *cgrun_copy_timeline_path(void);
/// What the process is called.
const char *cgrun_program(void);
/// The name of a thread of the process, to be freed; NULL if it has ended.
char *cgrun_copy_thread_name(int32_t thread);

G_END_DECLS

#endif
