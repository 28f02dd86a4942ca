// SPDX-License-Identifier: Apache-2.0
// A ring of records of one loop, and the counts of each item's callouts, for a timeline. Only the loop's thread writes
// the records and the counts.
#ifndef CGRUN_RING_H
#define CGRUN_RING_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

G_BEGIN_DECLS

/// The kinds of records. A callout or a sleep lasts until the next record that is not deeper.
typedef enum {
    /// A run, or a host's dispatch of the loop, begins. The depth of this record already includes this run or dispatch.
    /// `extra`: a cgrun_driver.
    CGRUN_RECORD_ENTER,
    /// A run, or a host's dispatch of the loop, ends. The depth of this record still includes this run or dispatch.
    /// `extra`: a cgrun_driver.
    CGRUN_RECORD_LEAVE,
    /// A pass enters a stage. `extra`: the stage.
    CGRUN_RECORD_STAGE,
    /// A callout of `item` begins. `extra`: how late the callout is, in nanoseconds. cgrun_ring_put() computes this
    /// delay from the time at which the callout was due, which the caller passes. If the callout had no due time, the
    /// caller passes 0.
    CGRUN_RECORD_CALLOUT,
    /// The loop sleeps.
    CGRUN_RECORD_SLEEP,
    /// The loop is awake.
    CGRUN_RECORD_AWAKE,
    /// A thread has ended the loop's sleep. `item`: the thread's id. `extra`: the time at which that thread sent the
    /// wake-up.
    CGRUN_RECORD_WOKEN,
    /// A host's poll begins (POLL) or has ended (POLLED). The poll is outside of all runs, or in a foreign loop inside
    /// a callout.
    CGRUN_RECORD_POLL,
    CGRUN_RECORD_POLLED
} cgrun_record_kind;

typedef enum {
    /// A run of ours.
    CGRUN_DRIVER_LOOP,
    /// A run of ours in a callback of a host.
    CGRUN_DRIVER_LOOP_IN_HOST,
    /// A host's dispatch of the loop.
    CGRUN_DRIVER_HOST
} cgrun_driver;

typedef struct {
    int64_t time;
    int64_t extra;
    uint32_t item;
    uint8_t kind;
    /// The number of runs that were on the stack; 255 if there were more.
    uint8_t depth;
    /// The number of the mode of the innermost run. The Swift side assigns these numbers.
    uint16_t mode;
} cgrun_record;

/// The cost of an item's callouts. Times are in nanoseconds. `latest` is the largest delay of a callout.
typedef struct {
    uint64_t calls;
    int64_t total;
    int64_t longest;
    int64_t latest;
} cgrun_counts;

typedef struct cgrun_ring cgrun_ring;
enum { CGRUN_RING_DEEPEST = 255 };

/// Creates a ring that keeps the newest `limit` records; `limit` is a power of two. The ring's memory is small at
/// first, and grows. `recording` is the number of the recording that the ring belongs to. NULL if there is no memory.
cgrun_ring *cgrun_ring_new(uint64_t recording, uint32_t limit);
void cgrun_ring_free(cgrun_ring *ring);

// MARK: On the loop's thread

void cgrun_ring_set_depth(cgrun_ring *ring, uint32_t depth);
/// Sets the mode of the next records, and the number of this mode.
void cgrun_ring_set_mode(cgrun_ring *ring, const void *mode, uint16_t number);
/// Adds a record with the present time.
void cgrun_ring_put(cgrun_ring *ring, cgrun_record_kind kind, uint32_t item, int64_t extra);
/// Like cgrun_ring_put(), but adds nothing and returns false if the ring belongs to another recording, or if the ring's
/// mode is not `mode`.
bool cgrun_ring_put_in(cgrun_ring *ring, uint64_t recording, const void *mode, cgrun_record_kind kind, uint32_t item,
    int64_t extra);
/// Returns the number of the item with this key. Returns 0 if the ring belongs to another recording, or if the item has
/// no number. Also returns 0 if the item's label was read at a version of the labels other than `labels`.
uint32_t cgrun_ring_item(const cgrun_ring *ring, uint64_t recording, uint64_t key, uint64_t labels);

/// Returns the number of the item with this key; 0 if the item has no number. Unlike cgrun_ring_item(), this function
/// checks neither the recording nor the version of the labels.
uint32_t cgrun_ring_known_item(const cgrun_ring *ring, uint64_t key);
/// Assigns a number to an item and returns the number; 0 if there is no memory. If the item already has a number, the
/// item keeps it. `labels` is the version of the labels at which the item's label was read.
uint32_t cgrun_ring_add_item(cgrun_ring *ring, uint64_t key, uint64_t labels);
/// Removes each item that has no record left in the ring, and calls `dropped` with the item's number.
void cgrun_ring_drop_items(cgrun_ring *ring, void (*dropped)(uint32_t number, void *data), void *data);
uint32_t cgrun_ring_item_count(const cgrun_ring *ring);

// MARK: Any thread

/// Copies the records, the earliest first. The caller frees the copy. `*count` receives the number of records in the
/// copy. `*lost` receives the number of earlier records, which were overwritten. Returns NULL if there is no memory.
cgrun_record *cgrun_ring_copy(cgrun_ring *ring, uint64_t *count, uint64_t *lost);
/// Returns the cost of the item with this key so far; `calls` is 0 if the item has no number in the ring. `total` and
/// `longest` do not include a callout that has not ended.
cgrun_counts cgrun_ring_counts_of(cgrun_ring *ring, uint64_t key);

// MARK: The page

/// The placeholder in the HTML page (timeline.html). The records replace this placeholder.
#define CGRUN_TIMELINE_WORD "@TIMELINE@"
enum { cgrun_timeline_page_word = sizeof CGRUN_TIMELINE_WORD - 1 };
extern const void *const cgrun_timeline_page __attribute__((visibility("hidden")));
extern const size_t cgrun_timeline_page_size __attribute__((visibility("hidden")));
/// The offset of the placeholder in the HTML page.
size_t cgrun_timeline_page_place(void);
/// Returns the path in the environment variable GRUN_TIMELINE as an absolute path, with each "%p" replaced by the
/// process id. The caller frees the path. NULL if the variable is not set or empty.
char *cgrun_copy_timeline_path(void);
const char *cgrun_program(void);
/// The name of a thread of the process; NULL if the thread has ended. The caller frees the name.
char *cgrun_copy_thread_name(int32_t thread);

G_END_DECLS

#endif
