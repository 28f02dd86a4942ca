// SPDX-License-Identifier: Apache-2.0
// Where a thread stands: it is asked by a signal, whose handler walks its stack.

#define _GNU_SOURCE

#include "cgrun-inspect.h"

#include "cgrun.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// MARK: Asking

/// The one answer that is waited for. Static: a handler that comes late finds it, and finds that it is not asked.
static struct {
    const cgrun_beat *beat;
    cgrun_sample sample;
    sem_t answered;
} asked;
/// The serial number of the thread that is asked; 0 if no thread is asked. The kernel's id is not used, because another
/// thread may have it by now. Either the handler or the asking thread sets it to 0, and may use `asked` then.
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

/// What GLib dispatches. Both functions read the thread's own memory, which is there since its first dispatch.
static void note_source(cgrun_sample *sample)
{
    sample->depth = g_main_depth();
    sample->source[0] = '\0';
    GSource *source = sample->depth > 0 ? g_main_current_source() : NULL;
    // Not g_source_get_context(), which complains of a source that was destroyed in its callback.
    sample->context = source != NULL ? source->context : NULL;
    const char *name = source != NULL ? g_source_get_name(source) : NULL;
    if (name != NULL)
        strncat(sample->source, name, sizeof sample->source - 1);
}

/// From the function that was interrupted on. backtrace() takes no lock and no memory after its first call, and sees
/// through the frame of the signal.
static void note_frames(cgrun_sample *sample, uintptr_t interrupted)
{
    void *all[CGRUN_MOST_FRAMES + 8];
    int count = backtrace(all, G_N_ELEMENTS(all));
    int first = 0;
    for (int index = 0; index < count && first == 0; index++) {
        if ((uintptr_t)all[index] == interrupted)
            first = index;
    }
    sample->frame_count = 0;
    for (int index = first; index < count && sample->frame_count < CGRUN_MOST_FRAMES; index++) {
        // A return address may be the first of the next function already.
        sample->frames[sample->frame_count++] = (uintptr_t)all[index] - (index != first);
    }
}

static void answer(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    int saved = errno;
    uint64_t thread = cgrun_thread_known_serial();
    // Else it is another process's signal, or one that was raised or comes late: nobody asks.
    if (info->si_code == SI_TKILL && thread != 0
        && __atomic_compare_exchange_n(&asked_thread, &thread, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        asked.sample.count = cgrun_beat_count(asked.beat);
        note_source(&asked.sample);
        note_frames(&asked.sample, interrupted_at(context));
        sem_post(&asked.answered);
    }
    errno = saved;
}

/// Who uses each signal, and what it was before the first of them. Guarded by `asking`.
static struct {
    unsigned users;
    struct sigaction former;
    // A question was not answered: the signal may be pending yet, and what it was before may be the process's end.
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
    // Another handler in ours could leave by siglongjmp(), and nobody would answer.
    sigfillset(&action.sa_mask);
    if (sigaction(signal, &action, &former) != 0)
        return errno;
    // Another thread has installed a handler since the look above.
    if (is_handled_by_another(&former)) {
        sigaction(signal, &former, NULL);
        return EBUSY;
    }
    uses[signal].former = former;
    return 0;
}

int cgrun_sample_prepare(int signal)
{
    static bool is_prepared;
    if (signal <= 0 || signal >= NSIG)
        return EINVAL;
    pthread_mutex_lock(&asking);
    if (!is_prepared) {
        void *first[2];
        // It loads what it needs now.
        backtrace(first, G_N_ELEMENTS(first));
        sem_init(&asked.answered, 0, 0);
        is_prepared = true;
    }
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
    // A handler that another thread has installed stays, also if it came between the look and the change.
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
    // Without our handler it may be the end of the process.
    bool is_ours = sigaction(signal, NULL, &now) == 0 && is_answered_by_us(&now);
    asked.beat = beat;
    int32_t thread = cgrun_beat_thread(beat);
    uint64_t serial = __atomic_load_n(&beat->serial, __ATOMIC_RELAXED);
    __atomic_store_n(&asked_thread, thread != 0 ? serial : 0, __ATOMIC_RELEASE);
    bool is_sent = is_ours && thread != 0 && syscall(SYS_tgkill, getpid(), thread, signal) == 0;
    bool is_answered = is_sent && cgrun_semaphore_wait(&asked.answered, cgrun_now() + span);
    // Unless the handler has begun meanwhile: then its answer comes.
    if (!is_answered && __atomic_exchange_n(&asked_thread, 0, __ATOMIC_ACQ_REL) == 0 && is_sent)
        is_answered = cgrun_semaphore_wait(&asked.answered, INT64_MAX);
    uses[signal].is_pending |= is_sent && !is_answered && signal != SIGURG;
    if (is_answered)
        *sample = asked.sample;
    pthread_mutex_unlock(&asking);
    return is_answered;
}

// MARK: Names

typedef struct {
    const char *bytes;
    size_t size;
} Image;

static bool image_open(Image *image, const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        image->size = (size_t)status.st_size;
        bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (descriptor >= 0)
        close(descriptor);
    image->bytes = bytes;
    return bytes != MAP_FAILED;
}

/// `count` things of a size at an offset of the file; NULL if it has not so many.
static const void *image_at(const Image *image, uint64_t offset, uint64_t count, size_t size)
{
    if (offset > image->size || count > (image->size - offset) / size || offset % 8 != 0)
        return NULL;
    return image->bytes + offset;
}

/// The symbol of a table that an offset lies in, copied; NULL if none does.
static char *name_in(const Image *image, const ElfW(Shdr) *table, const ElfW(Shdr) *texts, uint64_t offset)
{
    uint64_t count = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = image_at(image, table->sh_offset, count, sizeof *symbols);
    if (symbols == NULL || texts->sh_offset > image->size || texts->sh_size > image->size - texts->sh_offset)
        return NULL;
    for (uint64_t index = 0; index < count; index++) {
        const ElfW(Sym) *symbol = &symbols[index];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= texts->sh_size
            || offset < symbol->st_value || offset - symbol->st_value >= symbol->st_size)
            continue;
        return g_strndup(image->bytes + texts->sh_offset + symbol->st_name, texts->sh_size - symbol->st_name);
    }
    return NULL;
}

/// The name of the function at an offset of a loaded file, from its whole table of symbols: that which the dynamic
/// linker knows lacks what is not exported.
static char *name_at(const char *path, uint64_t offset)
{
    Image image;
    if (!image_open(&image, path))
        return NULL;
    char *name = NULL;
    const ElfW(Ehdr) *header = (const void *)image.bytes;
    const ElfW(Shdr) *sections = NULL;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_shentsize == sizeof *sections)
        sections = image_at(&image, header->e_shoff, header->e_shnum, sizeof *sections);
    for (unsigned index = 0; sections != NULL && name == NULL && index < header->e_shnum; index++) {
        const ElfW(Shdr) *table = &sections[index];
        if ((table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) && table->sh_link < header->e_shnum)
            name = name_in(&image, table, &sections[table->sh_link], offset);
    }
    munmap((void *)image.bytes, image.size);
    return name;
}

extern char *swift_demangle(
    const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags) __attribute__((weak));

void cgrun_symbol(uintptr_t address, char **function, char **file)
{
    Dl_info info;
    struct link_map *map = NULL;
    *function = NULL;
    *file = NULL;
    if (!dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) || map == NULL)
        return;
    bool is_program = map->l_name[0] == '\0';
    *file = g_path_get_basename(is_program ? g_get_prgname() != NULL ? g_get_prgname() : "program" : map->l_name);
    const char *path = is_program ? "/proc/self/exe" : map->l_name;
    char *name = path[0] == '/' ? name_at(path, address - map->l_addr) : NULL;
    if (name == NULL)
        name = g_strdup(info.dli_sname);
    char *plain = name != NULL && &swift_demangle != NULL ? swift_demangle(name, strlen(name), NULL, NULL, 0) : NULL;
    *function = plain != NULL ? g_strdup(plain) : g_steal_pointer(&name);
    free(plain);
    g_free(name);
}
