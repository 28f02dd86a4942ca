/* SPDX-License-Identifier: Apache-2.0 */
/* Core Foundation's run loop, hosted on GLib's main context. Link with `pkg-config --libs grun-1.0`.
 *
 * A span of time is a gdouble in seconds. It is rounded to the nearest nanosecond, and a positive span is at least a
 * nanosecond. Up to 48 days, a gdouble keeps every nanosecond. For a time limit in microseconds, call
 * grun_loop_run_in_mode_usec().
 *
 * A date is a gint64 in microseconds on the clock of g_get_monotonic_time(). Fractions of a microsecond are dropped.
 *
 * The caller owns the text or list that a getter with `copy` in its name returns. A getter with `get` returns a value
 * that belongs to the object. The getters of #GRunPortMessage are an exception: the caller releases the references that
 * they return.
 *
 * After a g_critical() a function does nothing, and returns %NULL, %FALSE, 0 or -1. A run returns
 * %GRUN_RESULT_FINISHED.
 *
 * `Threads:` names the threads that may call a function. `Core Foundation:`, `Foundation:` and `GLib:` name its
 * counterparts.
 */
#ifndef GRUN_H
#define GRUN_H

#define GRUN_H_INSIDE

#include <grun/grun-version.h>
#include <grun/grun-types.h>
#include <grun/grun-loop.h>
#include <grun/grun-mode.h>
#include <grun/grun-context.h>
#include <grun/grun-host.h>
#include <grun/grun-source.h>
#include <grun/grun-fd-source.h>
#include <grun/grun-signal-source.h>
#include <grun/grun-child-source.h>
#include <grun/grun-channel.h>
#include <grun/grun-port-message.h>
#include <grun/grun-port.h>
#include <grun/grun-message.h>
#include <grun/grun-message-port.h>
#include <grun/grun-remote-message-port.h>
#include <grun/grun-timer.h>
#include <grun/grun-observer.h>
#include <grun/grun-idle-queue.h>
#include <grun/grun-notification-queue.h>
#include <grun/grun-perform.h>
#include <grun/grun-thread.h>
#include <grun/grun-virtual-time.h>
#include <grun/grun-stalls.h>
#include <grun/grun-timeline.h>

#undef GRUN_DEFINE_FLAG_OPERATORS
#undef GRUN_H_INSIDE

#endif
