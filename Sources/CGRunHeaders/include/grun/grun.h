/* SPDX-License-Identifier: Apache-2.0 */
/* Core Foundation's run loop, living on GLib's main context. Link with `pkg-config --libs grun-1.0`. */
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
#include <grun/grun-port.h>
#include <grun/grun-message-port.h>
#include <grun/grun-timer.h>
#include <grun/grun-observer.h>
#include <grun/grun-idle-queue.h>
#include <grun/grun-notification-queue.h>
#include <grun/grun-perform.h>
#include <grun/grun-thread.h>
#include <grun/grun-virtual-time.h>
#include <grun/grun-stalls.h>
#include <grun/grun-timeline.h>

#undef GRUN_H_INSIDE

#endif
