// SPDX-License-Identifier: Apache-2.0
// The HTML page of a timeline, and the names of programs and threads that the page shows.

#define _GNU_SOURCE

#include "cgrun-ring.h"

#include "cgrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// #embed is a part of C23. Clang supports #embed in every language version, with a warning outside of C23.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char page[] = {
#embed "timeline.html"
};

const void *const cgrun_timeline_page = page;
const size_t cgrun_timeline_page_size = sizeof page;

size_t cgrun_timeline_page_place(void)
{
    const char *place = memmem(page, sizeof page, CGRUN_TIMELINE_WORD, cgrun_timeline_page_word);
    // The placeholder is always found, because the page is built into this file.
    return place != NULL ? (size_t)(place - page) : sizeof page - cgrun_timeline_page_word;
}

char *cgrun_copy_timeline_path(void)
{
    const char *text = cgrun_environment("GRUN_TIMELINE");
    if (text == NULL || *text == '\0')
        return NULL;
    GString *path = g_string_new(NULL);
    // Make the path absolute, because the program may change its working directory before it ends.
    if (*text != '/') {
        g_autofree char *folder = g_get_current_dir();
        g_string_printf(path, "%s/", folder);
    }
    for (const char *next; (next = strstr(text, "%p")) != NULL; text = next + 2) {
        g_string_append_len(path, text, next - text);
        g_string_append_printf(path, "%d", (int)getpid());
    }
    g_string_append(path, text);
    char *copy = strdup(path->str);
    g_string_free(path, TRUE);
    return copy;
}

const char *cgrun_program(void) { return program_invocation_short_name; }

char *cgrun_copy_thread_name(int32_t thread)
{
    char path[64];
    char name[CGRUN_THREAD_NAME + 1] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    ssize_t count = read(descriptor, name, sizeof name - 1);
    close(descriptor);
    if (count <= 0)
        return NULL;
    name[strcspn(name, "\n")] = '\0';
    return strdup(name);
}
