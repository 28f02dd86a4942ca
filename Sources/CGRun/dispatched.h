// SPDX-License-Identifier: Apache-2.0
// Whether the host has dispatched anything foreign since the last head of a pass. Then another head comes before the
// next beforeWaiting, and a wait is over.
//
// GLib does not say what an iteration dispatches: a suspicion that nothing has refuted is a fact in the next one.
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
    FOREIGN, // Also before the first head.
    UNSURE,  // This iteration may dispatch something foreign, those before it have not.
    OURS,    // Nothing, or only sources of ours.
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
