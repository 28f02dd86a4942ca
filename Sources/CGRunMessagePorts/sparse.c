// SPDX-License-Identifier: Apache-2.0
// Checks whether the memory of a message has holes, which are pages that its sender has never written.
//
// To find a hole, the kernel searches every page, which takes 10 to 40 ms for 1 GiB. A peer can send the same memory
// thousands of times, so the answers for 64 pieces of memory are kept. An answer stays valid, because sealed memory
// cannot change. Memory is recognized by its device, inode number, size and time of change.

#define _GNU_SOURCE

#include "cgrun-message-ports.h"
#include "cgrun.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec change;
    bool is_whole;
} Answer;

/// Memory of up to SMALL bytes is searched each time, which is quick. If the answers for small memory were kept, they
/// would displace the answers for larger memory.
enum { SMALL = 1 << 20, ANSWERS = 64 };

// The answers. The next answer to be replaced has the index `next_answer`. Guarded by `lock`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Answer answers[ANSWERS];
static unsigned next_answer;

static bool is_of(const Answer *answer, const struct stat *status)
{
    return answer->number == status->st_ino && answer->device == status->st_dev && answer->size == status->st_size &&
           answer->change.tv_sec == status->st_ctim.tv_sec && answer->change.tv_nsec == status->st_ctim.tv_nsec;
}

/// Copies the stored answer for the memory that `status` describes. Returns false if no answer is stored.
static bool find_answer(const struct stat *status, Answer *found)
{
    bool is_known = false;
    pthread_mutex_lock(&lock);
    for (unsigned index = 0; index < ANSWERS && !is_known; index++) {
        is_known = is_of(&answers[index], status);
        if (is_known)
            *found = answers[index];
    }
    pthread_mutex_unlock(&lock);
    return is_known;
}

static void keep_answer(const Answer *answer)
{
    pthread_mutex_lock(&lock);
    answers[next_answer] = *answer;
    next_answer = (next_answer + 1) % ANSWERS;
    pthread_mutex_unlock(&lock);
}

/// Finds out whether a piece of memory has no hole. `st_blocks` does not show this, because blocks may lie behind the
/// end of the file. If a sandbox forbids lseek(), the memory counts as whole.
static bool look_up(int memory, off_t size)
{
    off_t hole = lseek(memory, 0, SEEK_HOLE);
    return hole < 0 || hole == size;
}

static bool is_whole(int memory, off_t size)
{
    struct stat status;
    Answer answer;
    if (size <= SMALL || fstat(memory, &status) != 0)
        return look_up(memory, size);
    if (find_answer(&status, &answer))
        return answer.is_whole;
    answer = (Answer){
        .device = status.st_dev, .number = status.st_ino, .size = status.st_size, .change = status.st_ctim,
        .is_whole = look_up(memory, size)};
    keep_answer(&answer);
    return answer.is_whole;
}

void cgrun_memory_clear_if_sparse(int memory, const void *bytes, uint64_t size)
{
    if (is_whole(memory, (off_t)size))
        return;
    // Reading these zeros allocates no page. If mmap() fails, for example because the process has too many mappings,
    // the holes stay, and reading them allocates pages.
    mmap((void *)bytes, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
