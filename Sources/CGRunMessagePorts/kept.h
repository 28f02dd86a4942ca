// SPDX-License-Identifier: Apache-2.0
// Descriptors that are closed in a forked child. Open such a descriptor between calls of the two functions below, and
// close it with cgrun_kept_close().
#ifndef CGRUN_KEPT_H
#define CGRUN_KEPT_H

void cgrun_begin_keeping(void);
/// Returns the descriptor, which may be -1, and leaves errno as it is.
int cgrun_end_keeping(int descriptor);

#endif
