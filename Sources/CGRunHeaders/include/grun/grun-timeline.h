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
 * Starts to record what all loops of the process do. If a recording is under way, this does nothing.
 *
 * The records contain callouts and their times, the delays of timers, sleeps and the threads that ended them, modes,
 * nested runs, and the host's own work. The last 65,536 records of each loop are kept.
 *
 * To record a program from its first loop on, start it with GRUN_TIMELINE=run.html in its environment. The picture is
 * written when the program exits by exit() or at the end of main().
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_start (void);

/**
 * grun_timeline_stop:
 *
 * Stops the recording, and keeps the records. If nothing is being recorded, this does nothing.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timeline_stop (void);

/**
 * grun_timeline_write:
 * @path: (type filename): the file, which is replaced once the new one is complete; a device or a pipe is written to
 *   directly
 * @error: a return location for %GRUN_ERROR_SYSTEM, or for %GRUN_ERROR_NOT_SUPPORTED in a forked child; or %NULL
 *
 * Writes a picture of what was recorded so far. If the name ends in `.json`, in small letters or capitals, the file
 * contains trace events for Perfetto and Chrome's viewer. Otherwise it is a page that any browser shows without a
 * network. You can call this several times.
 *
 * A new file has the mode 0644 without the bits of the umask. An existing file keeps its mode. In a sticky folder such
 * as /tmp, if another user's file, link or pipe has the name, the call fails and does not touch it.
 *
 * Threads: any; the call takes some milliseconds for each thousand records.
 *
 * Returns: %FALSE on an error, after which an existing file with that name is unchanged; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timeline_write (const char *path,
                              GError **error);

G_END_DECLS

#endif
