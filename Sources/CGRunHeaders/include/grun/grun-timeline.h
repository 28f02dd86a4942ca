/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of what the loops of a process have done. */
#ifndef GRUN_TIMELINE_H
#define GRUN_TIMELINE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * grun_timeline_start:
 *
 * Records from now on what all loops of the process do: what was called when and for how long, how late timers were,
 * when a loop slept and who woke it, modes, nested runs, and under a host its own work. Of each loop the last 65,536
 * records are kept. Nothing, if it is recorded already.
 *
 * A program that is started with GRUN_TIMELINE=run.html in its environment is recorded from its first loop on, and the
 * picture is written when it exits by exit() or the end of main().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_start (void);

/**
 * grun_timeline_stop:
 *
 * Ends what grun_timeline_start() began. What was recorded stays. Nothing, if nothing is recorded.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_stop (void);

/**
 * grun_timeline_write:
 * @path: (type filename): the file, which is replaced when it is whole; a device or a pipe is written to
 * @error: where to put %GRUN_ERROR_SYSTEM, or %GRUN_ERROR_NOT_SUPPORTED in a forked child; or %NULL
 *
 * Writes a picture of what was recorded so far: trace events for Perfetto and Chrome's viewer if the name ends in
 * `.json`, else a page that any browser shows without a network. It may be called again.
 *
 * A new file has the mode 0644 without the bits of the umask. A file that exists keeps its mode. In a sticky folder
 * such as /tmp, a file, a link or a pipe of another user is not touched: that is an error.
 *
 * Threads: any; it takes some milliseconds for each thousand records. There is no corresponding Core Foundation
 * function.
 *
 * Returns: %FALSE on an error: what was there under that name is there still
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timeline_write (const char *path,
                              GError **error);

G_END_DECLS

#endif
