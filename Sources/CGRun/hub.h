// SPDX-License-Identifier: Apache-2.0
// What the hub and the carriers of further contexts know of each other.
#ifndef CGRUN_HUB_H
#define CGRUN_HUB_H

#include "cgrun.h"

/// Whether nothing of ours may become ready in this iteration: our own driver iterates the context, another thread does, or the hub yields.
bool cgrun_hub_steps_back(const GSource *hub);
/// Poll records come or go, so that the next poll ends at once: that is no sleep which anybody has ended.
void cgrun_hub_note_records(GSource *hub);
/// Dispatches the hub, unless it steps back.
void cgrun_hub_serve(GSource *hub);

#endif
