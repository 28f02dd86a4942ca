// SPDX-License-Identifier: Apache-2.0
// The Swift wrapper of the GSource in beat.c. While a loop is watched or recorded, this GSource records when each poll
// of the loop's host begins and ends.

import CGRun
import CGRunDiagnostics
import CGRunGLib
import GRunLoop

struct BeatSource {
    private let source: UnsafeMutablePointer<GSource>

    init(of beat: UnsafeMutablePointer<cgrun_beat>, in context: OpaquePointer) {
        source = cgrun_beat_source_new(beat, context)
    }

    func close() { cgrun_beat_source_close(source) }
}
