// Prints the time of a loop's first callback, in C. Without a library, prints that of the first line of main.
#include "hello.h"

#if defined USE_GRUN
#define PEER "grun-c"
#include <grun/grun.h>

static void hello(gpointer data) { hello_end(); }

static void run(void)
{
    grun_loop_perform_block(grun_loop_get_main(), GRUN_MODE_DEFAULT, hello, NULL, NULL);
    grun_loop_run(grun_loop_get_main());
}
#elif defined USE_GLIB
#define PEER "glib"
#include <glib.h>

static gboolean hello(gpointer data)
{
    hello_end();
    return FALSE;
}

static void run(void)
{
    g_idle_add(hello, NULL);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
#elif defined USE_UV
#define PEER "uv"
#include <uv.h>

static void hello(uv_idle_t *idle) { hello_end(); }

static void run(void)
{
    uv_idle_t idle;
    uv_idle_init(uv_default_loop(), &idle);
    uv_idle_start(&idle, hello);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
#else
#define PEER "floor"
static void run(void) { hello_end(); }
#endif

int main(int count, char **arguments)
{
    hello_begin(count, arguments, PEER);
    run();
}
