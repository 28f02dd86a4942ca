// SPDX-License-Identifier: Apache-2.0
// Tracks whether the host has dispatched a foreign source since the last head of a pass. A foreign source is a GSource
// that does not belong to this library. After such a dispatch the host's wait is over, and a new head must precede the
// next beforeWaiting.
//
// GLib does not report what an iteration dispatches. So an iteration that may dispatch a foreign source sets the state
// UNSURE. If the state is still UNSURE when the next iteration begins, it becomes FOREIGN.
//
// Each row of the table is a function below, with the events for which it is called. Each column on the right belongs
// to a state before the call, and contains the states after the call.
//
//                                                                          OURS     UNSURE   FOREIGN
//   suspect       the first sentinel was checked; there are no sentinels   UNSURE   UNSURE   FOREIGN
//   acquit        the last sentinel was checked, so nothing was ready;
//                 a dispatch of ours begins or ends; we ended the poll     OURS     OURS     FOREIGN
//   conclude      the next iteration begins                                OURS     FOREIGN  FOREIGN
//   note_foreign  a nested loop in a foreign callback began or ended;
//                 afterWaiting was sent                                    FOREIGN  FOREIGN  FOREIGN
//   note_head     a head of a pass has left its wait to the host;
//                 beforeWaiting was sent                                   OURS     OURS     OURS
#ifndef CGRUN_DISPATCHED_H
#define CGRUN_DISPATCHED_H

typedef enum {
    FOREIGN, // A foreign source was dispatched. Also the state before the first head.
    UNSURE,  // This iteration may dispatch a foreign source. The iterations before it have not done so.
    OURS,    // Nothing was dispatched, or only sources of ours.
} Dispatched;

static inline void dispatched_suspect(Dispatched *dispatched)
{
    if (*dispatched == OURS)
        *dispatched = UNSURE;
}

static inline void dispatched_acquit(Dispatched *dispatched)
{
    if (*dispatched == UNSURE)
        *dispatched = OURS;
}

static inline void dispatched_conclude(Dispatched *dispatched)
{
    if (*dispatched == UNSURE)
        *dispatched = FOREIGN;
}

static inline void dispatched_note_foreign(Dispatched *dispatched)
{
    *dispatched = FOREIGN;
}

static inline void dispatched_note_head(Dispatched *dispatched)
{
    *dispatched = OURS;
}

#endif
