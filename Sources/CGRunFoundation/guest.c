// SPDX-License-Identifier: Apache-2.0
// Wrappers of Core Foundation's functions, which Foundation exports. The declarations of the functions below follow
// Core Foundation's documentation or source.

#define _GNU_SOURCE

#include "cgrun-foundation.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

typedef const void *Ref;
typedef unsigned char Bool8;

extern const Ref kCFRunLoopDefaultMode, kCFRunLoopCommonModes;
extern void *CFRunLoopGetMain(void);
extern void *CFRunLoopGetCurrent(void);
extern Ref CFRunLoopCopyCurrentMode(void *loop);
extern Ref CFRunLoopCopyAllModes(void *loop);
extern Ref CFRetain(Ref object);
extern void CFRelease(Ref object);
extern Bool8 CFEqual(Ref one, Ref other);
extern unsigned long CFGetTypeID(Ref object);
extern unsigned long CFStringGetTypeID(void);
extern unsigned long CFArrayGetTypeID(void);
extern long CFStringGetLength(Ref string);
extern Bool8 CFStringGetCString(Ref string, char *text, long size, uint32_t encoding);
extern Ref CFStringCreateWithCString(Ref allocator, const char *text, uint32_t encoding);
extern long CFArrayGetCount(Ref array);
extern Ref CFArrayGetValueAtIndex(Ref array, long index);
extern unsigned long CFSetGetTypeID(void);
extern long CFSetGetCount(Ref set);
extern void CFSetGetValues(Ref set, Ref *values);
extern void *CFRunLoopObserverCreate(Ref allocator, unsigned long activities, Bool8 repeats, long order,
                                     void (*callback)(void *, unsigned long, void *), void *context);
extern void CFRunLoopRemoveObserver(void *loop, void *observer, Ref mode);
extern void CFRunLoopObserverInvalidate(void *observer);
extern void *CFRunLoopSourceCreate(Ref allocator, long order, void *context);
extern void CFRunLoopRemoveSource(void *loop, void *source, Ref mode);
extern void CFRunLoopSourceInvalidate(void *source);
extern Bool8 _CFRunLoop01(void *loop, Ref mode);
extern void *_CFGetTSD(uint32_t slot);
extern void *_CFSetTSD(uint32_t slot, void *value, void (*destructor)(void *));

enum { UTF8 = 0x08000100, DRAINS_MAIN_QUEUE = 4 };

void *cgrun_guest_main(void) { return CFRunLoopGetMain(); }
void *cgrun_guest_current(void) { return CFRunLoopGetCurrent(); }
const void *cgrun_guest_string(const char *text) { return CFStringCreateWithCString(NULL, text, UTF8); }
const void *cgrun_guest_retain(const void *object) { return CFRetain(object); }
void cgrun_guest_release(const void *object) { CFRelease(object); }

char *cgrun_guest_copy_text(const void *string)
{
    if (CFGetTypeID(string) != CFStringGetTypeID())
        return NULL;
    long size = CFStringGetLength(string) * 4 + 1;
    char *text = malloc((size_t)size);
    if (text != NULL && CFStringGetCString(string, text, size, UTF8))
        return text;
    free(text);
    return NULL;
}

void cgrun_guest_each_mode(const void *modes, void (*body)(const void *name, void *data), void *data)
{
    unsigned long type = CFGetTypeID(modes);
    if (type == CFStringGetTypeID())
        return body(modes, data);
    if (type == CFArrayGetTypeID()) {
        for (long i = 0; i < CFArrayGetCount(modes); i++)
            body(CFArrayGetValueAtIndex(modes, i), data);
        return;
    }
    if (type != CFSetGetTypeID())
        return;
    long count = CFSetGetCount(modes);
    Ref *values = calloc((size_t)count + 1, sizeof(Ref));
    if (values == NULL)
        return;
    CFSetGetValues(modes, values);
    for (long i = 0; i < count; i++)
        body(values[i], data);
    free(values);
}

bool cgrun_guest_is_common_modes(const void *name)
{
    return name == kCFRunLoopCommonModes || CFEqual(name, kCFRunLoopCommonModes);
}

bool cgrun_guest_is_default_mode(const void *name) { return name == kCFRunLoopDefaultMode; }
const void *cgrun_guest_default_mode(void) { return kCFRunLoopDefaultMode; }
bool cgrun_guest_is_common(void *loop, const void *mode) { return _CFRunLoop01(loop, mode); }
const void *cgrun_guest_copy_current_mode(void *loop) { return CFRunLoopCopyCurrentMode(loop); }
const void *cgrun_guest_copy_modes(void *loop) { return CFRunLoopCopyAllModes(loop); }

intptr_t cgrun_guest_set_draining(intptr_t value)
{
    intptr_t before = (intptr_t)_CFGetTSD(DRAINS_MAIN_QUEUE);
    _CFSetTSD(DRAINS_MAIN_QUEUE, (void *)value, NULL);
    return before;
}

// MARK: Observers and sources of ours

typedef struct {
    void (*observer)(void *info, unsigned long activity);
    void (*source)(void *info);
    void *info;
} Callee;

static const void *callee_copy(const void *info)
{
    Callee *copy = malloc(sizeof *copy);
    if (copy != NULL)
        *copy = *(const Callee *)info;
    return copy;
}

static void callee_free(const void *info) { free((void *)info); }

static void observer_called(void *observer, unsigned long activity, void *info)
{
    (void)observer;
    const Callee *callee = info;
    callee->observer(callee->info, activity);
}

static void source_called(void *info)
{
    const Callee *callee = info;
    callee->source(callee->info);
}

void *cgrun_guest_observer(unsigned long activities, bool is_first, void (*body)(void *info, unsigned long activity),
                           void *info)
{
    Callee callee = {.observer = body, .info = info};
    struct {
        long version;
        void *info;
        const void *(*retain)(const void *);
        void (*release)(const void *);
        void *description;
    } context = {0, &callee, callee_copy, callee_free, NULL};
    return CFRunLoopObserverCreate(NULL, activities, true, is_first ? LONG_MIN : LONG_MAX, observer_called, &context);
}

void cgrun_guest_move_observer(void *loop, void *observer, const void *mode)
{
    CFRunLoopRemoveObserver(loop, observer, mode);
    cgrun_guest_add_observer(loop, observer, mode);
}

void cgrun_guest_invalidate_observer(void *observer) { CFRunLoopObserverInvalidate(observer); }

void *cgrun_guest_source(void (*body)(void *info), void *info)
{
    Callee callee = {.source = body, .info = info};
    struct {
        long version;
        void *info;
        const void *(*retain)(const void *);
        void (*release)(const void *);
        void *description, *equal, *hash, *schedule, *cancel;
        void (*perform)(void *);
    } context = {.info = &callee, .retain = callee_copy, .release = callee_free, .perform = source_called};
    return CFRunLoopSourceCreate(NULL, 0, &context);
}

void cgrun_guest_remove_source(void *loop, void *source, const void *mode)
{
    CFRunLoopRemoveSource(loop, source, mode);
}

void cgrun_guest_invalidate_source(void *source) { CFRunLoopSourceInvalidate(source); }

// MARK: Descriptors

static int port_of_probe(void *info) { return (int)(intptr_t)info; }
static void probe_called(void *info) { (void)info; }

/// Returns whether an epoll watches a descriptor. EPOLL_CTL_MOD fails for a descriptor that the epoll does not watch.
static bool watches(int epoll, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = descriptor};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0;
}

/// Returns the epoll that watches the descriptor; -1 if there is none. This function is called if /proc is not mounted.
/// It tries the possible descriptor numbers one after another.
static int epoll_by_number(int descriptor)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    // The limit may have been lowered since the epoll was made, so at least 4096 numbers are tried.
    int count = limit.rlim_cur > 1 << 20 ? 1 << 20 : limit.rlim_cur < 4096 ? 4096 : (int)limit.rlim_cur;
    for (int epoll = 0; epoll < count; epoll++)
        if (watches(epoll, descriptor))
            return epoll;
    return -1;
}

/// The epoll that watches the descriptor; -1 if there is none.
static int epoll_that_watches(int descriptor)
{
    // This code does not read /proc/self/fd, which shows the descriptors of the main thread, because that thread may
    // have ended.
    DIR *files = opendir("/proc/thread-self/fd");
    if (files == NULL)
        return epoll_by_number(descriptor);
    int found = -1;
    for (struct dirent *file; found < 0 && (file = readdir(files)) != NULL;) {
        char *end;
        long epoll = strtol(file->d_name, &end, 10);
        if (*end == '\0' && watches((int)epoll, descriptor))
            found = (int)epoll;
    }
    closedir(files);
    return found;
}

int cgrun_guest_find_epoll(void *loop, const void *mode)
{
    // When a version-1 source is added to a mode, Core Foundation immediately adds the source's descriptor to the
    // mode's epoll. So the epoll that watches the descriptor of a probe source is the mode's epoll.
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        return -2;
    struct {
        long version;
        void *info, *retain, *release, *description, *equal, *hash;
        int (*get_port)(void *);
        void (*perform)(void *);
    } context = {.version = 1, .get_port = port_of_probe, .perform = probe_called};
    context.info = (void *)(intptr_t)descriptor;
    void *probe = CFRunLoopSourceCreate(NULL, 0, &context);
    int epoll = -2;
    if (probe != NULL) {
        cgrun_guest_add_source(loop, probe, mode);
        epoll = epoll_that_watches(descriptor);
        CFRunLoopRemoveSource(loop, probe, mode);
        CFRunLoopSourceInvalidate(probe);
        CFRelease(probe);
    }
    close(descriptor);
    return epoll;
}

bool cgrun_descriptor_is_readable(int descriptor)
{
    struct pollfd request = {.fd = descriptor, .events = POLLIN};
    return poll(&request, 1, 0) > 0;
}
