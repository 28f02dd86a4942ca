/* SPDX-License-Identifier: Apache-2.0 */
/* Recording what the loops of a process do, and writing a picture of it. */
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
 * Starts to record what all loops of the process do. If the recording is already under way, this does nothing.
 *
 * The records show which callouts were called, when and for how long, and how late timers were. They show when a loop
 * slept and which thread woke it, the modes and nested runs, and the host's own work. The last 65,536 records of each
 * loop are kept.
 *
 * To record a program from its first loop on, start it with GRUN_TIMELINE=run.html in its environment. The picture is
 * written when the program exits by exit() or at the end of main().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_start (void);

/**
 * grun_timeline_stop:
 *
 * Stops the recording that grun_timeline_start() has started. The records are kept. If nothing is being recorded, this
 * does nothing.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_stop (void);

/**
 * grun_timeline_write:
 * @path: (type filename): the file, which is replaced once the new one is complete; a device or a pipe is written to
 *   directly
 * @error: the return location for %GRUN_ERROR_SYSTEM, or for %GRUN_ERROR_NOT_SUPPORTED in a forked child; or %NULL
 *
 * Writes a picture of what was recorded so far. If the name ends in `.json`, in small letters or capitals, it writes
 * trace events for Perfetto and Chrome's viewer. Otherwise it writes a page that any browser shows without a network.
 * It may be called again.
 *
 * A new file has the mode 0644 without the bits of the umask. An existing file keeps its mode. In a sticky folder such
 * as /tmp, a file, a link or a pipe of another user is not touched: that is an error.
 *
 * Threads: any; the call takes some milliseconds for each thousand records. There is no corresponding Core Foundation
 * function.
 *
 * Returns: %FALSE on an error, after which an existing file with that name is unchanged; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timeline_write (const char *path,
                              GError **error);

G_END_DECLS

#endif
