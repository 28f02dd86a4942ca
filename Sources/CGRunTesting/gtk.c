// SPDX-License-Identifier: Apache-2.0
// Uses GTK in a test program. The library does not link GTK, but looks up the functions of the GTK that the program
// links.

#define _GNU_SOURCE

#include "cgrun-testing.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic int32_t initial_thread;

int32_t cgrun_testing_gtk_thread(void) { return atomic_load(&initial_thread); }

static void note_thread(void)
{
    int32_t none = 0;
    atomic_compare_exchange_strong(&initial_thread, &none, gettid());
    if (gettid() != getpid())
        grun_testing_gtk_on_thread(gettid());
}

// These two functions are called instead of GTK's own functions, so that a call on a wrong thread is noticed
// immediately. GTK 3 has the program's arguments as parameters; GTK 4 has no parameters.
__attribute__((visibility("default"))) void gtk_init(void *count, void *arguments);
__attribute__((visibility("default"))) int gtk_init_check(void *count, void *arguments);

void gtk_init(void *count, void *arguments)
{
    note_thread();
    void (*original)(void *, void *) = (void (*)(void *, void *))dlsym(RTLD_NEXT, "gtk_init");
    if (original != NULL)
        original(count, arguments);
}

int gtk_init_check(void *count, void *arguments)
{
    note_thread();
    int (*original)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "gtk_init_check");
    return original != NULL && original(count, arguments);
}

int cgrun_testing_gtk_version(void)
{
    // This function exists since GTK 4.6.
    if (dlsym(RTLD_DEFAULT, "gdk_texture_save_to_png_bytes") != NULL)
        return 4;
    return dlsym(RTLD_DEFAULT, "gtk_main_quit") != NULL ? 3 : 0;
}

int cgrun_testing_gtk_start(void)
{
    return gtk_init_check(NULL, NULL);
}

// MARK: Pictures

// A function of GTK, or of a library that GTK loads.
#define GTK(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name))

typedef struct {
    uint8_t *bytes;
    size_t length;
} picture;

static picture copied(const void *bytes, size_t length)
{
    picture copy = {malloc(length > 0 ? length : 1), length};
    if (copy.bytes != NULL)
        memcpy(copy.bytes, bytes, length);
    return copy;
}

static picture take_gtk4(void *widget)
{
    picture taken = {NULL, 0};
    void *native = GTK(void *, gtk_widget_get_native, void *)(widget);
    void *renderer = native == NULL ? NULL : GTK(void *, gtk_native_get_renderer, void *)(native);
    int width = GTK(int, gtk_widget_get_width, void *)(widget);
    int height = GTK(int, gtk_widget_get_height, void *)(widget);
    if (renderer == NULL || width <= 0 || height <= 0)
        return taken;
    void *paintable = GTK(void *, gtk_widget_paintable_new, void *)(widget);
    void *snapshot = GTK(void *, gtk_snapshot_new, void)();
    GTK(void, gdk_paintable_snapshot, void *, void *, double, double)(paintable, snapshot, width, height);
    GTK(void, g_object_unref, void *)(paintable);
    void *node = GTK(void *, gtk_snapshot_free_to_node, void *)(snapshot);
    // A widget that was not drawn yet has no node.
    if (node == NULL)
        return taken;
    void *texture = GTK(void *, gsk_renderer_render_texture, void *, void *, const void *)(renderer, node, NULL);
    GTK(void, gsk_render_node_unref, void *)(node);
    if (texture == NULL)
        return taken;
    void *png = GTK(void *, gdk_texture_save_to_png_bytes, void *)(texture);
    GTK(void, g_object_unref, void *)(texture);
    size_t length = 0;
    const void *bytes = GTK(const void *, g_bytes_get_data, void *, size_t *)(png, &length);
    taken = copied(bytes, length);
    GTK(void, g_bytes_unref, void *)(png);
    return taken;
}

static int append(void *closure, const unsigned char *data, unsigned length)
{
    picture *taken = closure;
    uint8_t *longer = realloc(taken->bytes, taken->length + length);
    if (longer == NULL) {
        free(taken->bytes);
        *taken = (picture){NULL, 0};
        return 1; // CAIRO_STATUS_NO_MEMORY
    }
    memcpy(longer + taken->length, data, length);
    *taken = (picture){longer, taken->length + length};
    return 0;
}

static picture take_gtk3(void *widget)
{
    picture taken = {NULL, 0};
    int width = GTK(int, gtk_widget_get_allocated_width, void *)(widget);
    int height = GTK(int, gtk_widget_get_allocated_height, void *)(widget);
    // 0 is CAIRO_FORMAT_ARGB32.
    void *surface = GTK(void *, cairo_image_surface_create, int, int, int)(0, width, height);
    void *context = GTK(void *, cairo_create, void *)(surface);
    GTK(void, gtk_widget_draw, void *, void *)(widget, context);
    GTK(int, cairo_surface_write_to_png_stream, void *, int (*)(void *, const unsigned char *, unsigned), void *)(
        surface, append, &taken);
    GTK(void, cairo_destroy, void *)(context);
    GTK(void, cairo_surface_destroy, void *)(surface);
    return taken;
}

uint8_t *cgrun_testing_gtk_picture(void *widget, size_t *length)
{
    picture taken = {NULL, 0};
    // A hidden widget has no content.
    if (GTK(int, gtk_widget_get_mapped, void *)(widget))
        taken = cgrun_testing_gtk_version() == 4 ? take_gtk4(widget) : take_gtk3(widget);
    *length = taken.length;
    return taken.bytes;
}
