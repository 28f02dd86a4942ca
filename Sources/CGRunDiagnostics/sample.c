// SPDX-License-Identifier: Apache-2.0
// Takes a backtrace of a thread: sends the thread a signal, and the signal's handler walks the thread's stack.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun.h"

#include <errno.h>
#include <execinfo.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// MARK: Asking

/// The request that is under way, and its answer. At most one request is under way at a time. This memory is static and
/// not on the requester's stack, because a handler may run after the request has ended.
static struct {
    const cgrun_beat *beat;
    cgrun_sample sample;
    // This array is not on the asked thread's stack, because that stack may be small.
    void *frames[CGRUN_MOST_FRAMES + 8];
    sem_t answered;
} asked;
/// The serial number of the asked thread; 0 if no thread is asked. The kernel's id of the thread is not used, because
/// another thread may have the same id later. The handler and the asking thread both try to set this number to 0. If
/// the handler succeeds, only the handler uses `asked` until the handler has answered.
static uint64_t asked_thread;
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/// Stores the GSource that GLib dispatches. If the depth is not 0, g_main_current_source() allocates no memory and
/// takes no lock: it only reads the thread's own memory.
static void note_source(cgrun_sample *sample)
{
    sample->depth = cgrun_thread_depth();
    sample->source[0] = '\0';
    GSource *source = sample->depth > 0 ? g_main_current_source() : NULL;
    // This code does not call g_source_get_context(), which logs a critical message if the GSource was destroyed in its
    // own callback. Instead, it reads the member `context`, whose offset is checked here.
    _Static_assert(sizeof(gpointer) != 8 || offsetof(GSource, context) == 32, "the context of a GSource");
    sample->context = source != NULL ? source->context : NULL;
    const char *name = source != NULL ? g_source_get_name(source) : NULL;
    if (name != NULL)
        strncat(sample->source, name, sizeof sample->source - 1);
}

/// Stores the stack, beginning with the interrupted function. In the process's first call, which prepare() makes,
/// backtrace() may take locks and allocate memory; later calls do not. The walk continues past the signal's frame to
/// the interrupted function.
static void note_frames(cgrun_sample *sample, uintptr_t interrupted)
{
    void **all = asked.frames;
    int count = backtrace(all, G_N_ELEMENTS(asked.frames));
    int first = 0;
    for (int index = 0; index < count && first == 0; index++) {
        if ((uintptr_t)all[index] == interrupted)
            first = index;
    }
    sample->frame_count = 0;
    for (int index = first; index < count && sample->frame_count < CGRUN_MOST_FRAMES; index++) {
        // If a function ends with a call, the return address is the first address of the next function. So subtract 1,
        // which gives an address within the call instruction.
        sample->frames[sample->frame_count++] = (uintptr_t)all[index] - (index != first);
    }
}

static void answer(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    int saved = errno;
    uint64_t thread = cgrun_thread_known_serial();
    // If this check fails, the signal is not a request to this thread. Then another process or the program itself sent
    // the signal, or the request has ended already.
    if (info->si_code == SI_TKILL && thread != 0
        && __atomic_compare_exchange_n(&asked_thread, &thread, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        asked.sample.count = cgrun_beat_count(asked.beat);
        note_source(&asked.sample);
        note_frames(&asked.sample, interrupted_at(context));
        sem_post(&asked.answered);
    }
    errno = saved;
}

/// For each signal, the number of cgrun_sample_prepare() calls without a cgrun_sample_finish(), and the disposition
/// before the first of these calls. Guarded by `asking`.
static struct {
    unsigned users;
    struct sigaction former;
    // True if a request was not answered. Then the signal may still be pending, and if the former disposition were
    // restored, the signal might end the process.
    bool is_pending;
} uses[NSIG];

static bool is_answered_by_us(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == answer;
}

static bool is_handled_by_another(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static int begin_answering(int signal)
{
    struct sigaction former;
    if (sigaction(signal, NULL, &former) != 0)
        return errno;
    if (is_answered_by_us(&former))
        return 0;
    if (is_handled_by_another(&former))
        return EBUSY;
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    // Our handler blocks all signals. Otherwise a handler of the program could interrupt our handler and leave by
    // siglongjmp(), and the request would get no answer.
    sigfillset(&action.sa_mask);
    if (sigaction(signal, &action, &former) != 0)
        return errno;
    // Another thread has installed a handler since the check above. Restore that handler.
    if (is_handled_by_another(&former)) {
        sigaction(signal, &former, NULL);
        return EBUSY;
    }
    uses[signal].former = former;
    return 0;
}

static void prepare(void)
{
    void *first[2];
    // The first call of backtrace() loads libgcc_s with dlopen(), so it waits for the loader's lock. A thread that
    // holds the loader's lock may stall, so `asking` must not be held here.
    backtrace(first, G_N_ELEMENTS(first));
    sem_init(&asked.answered, 0, 0);
}

int cgrun_sample_prepare(int signal)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (signal <= 0 || signal >= NSIG)
        return EINVAL;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&asking);
    int error = begin_answering(signal);
    if (error == 0)
        uses[signal].users++;
    pthread_mutex_unlock(&asking);
    return error;
}

void cgrun_sample_finish(int signal)
{
    struct sigaction now;
    pthread_mutex_lock(&asking);
    // Keep a handler that another thread has installed, even if it was installed between the check and the call of
    // sigaction() that changes the disposition.
    bool is_free = --uses[signal].users == 0 && !uses[signal].is_pending;
    if (is_free && sigaction(signal, NULL, &now) == 0 && is_answered_by_us(&now)
        && sigaction(signal, &uses[signal].former, &now) == 0 && !is_answered_by_us(&now))
        sigaction(signal, &now, NULL);
    pthread_mutex_unlock(&asking);
}

bool cgrun_sample_take(const cgrun_beat *beat, int signal, int64_t span, cgrun_sample *sample)
{
    struct sigaction now;
    pthread_mutex_lock(&asking);
    // Without our handler the signal may end the process, so do not send it.
    bool is_ours = sigaction(signal, NULL, &now) == 0 && is_answered_by_us(&now);
    asked.beat = beat;
    int32_t thread = cgrun_beat_thread(beat);
    uint64_t serial = __atomic_load_n(&beat->serial, __ATOMIC_RELAXED);
    __atomic_store_n(&asked_thread, thread != 0 ? serial : 0, __ATOMIC_RELEASE);
    bool is_sent = is_ours && thread != 0 && syscall(SYS_tgkill, getpid(), thread, signal) == 0;
    bool is_answered = is_sent && cgrun_semaphore_wait(&asked.answered, cgrun_now() + span);
    // Withdraw the request. If the handler has already begun, wait for its answer.
    if (!is_answered && __atomic_exchange_n(&asked_thread, 0, __ATOMIC_ACQ_REL) == 0 && is_sent)
        is_answered = cgrun_semaphore_wait(&asked.answered, INT64_MAX);
    uses[signal].is_pending |= is_sent && !is_answered && signal != SIGURG;
    if (is_answered)
        *sample = asked.sample;
    pthread_mutex_unlock(&asking);
    return is_answered;
}
