// SPDX-License-Identifier: Apache-2.0
// The Swift side of a GSource by which a host's iterations beat while a loop is watched.

import CGRun
import CGRunGLib

struct BeatSource {
    private let source: UnsafeMutablePointer<GSource>

    init(of beat: UnsafeMutablePointer<cgrun_beat>, in context: OpaquePointer) {
        source = cgrun_beat_source_new(beat, context)
    }

    func close() { cgrun_beat_source_close(source) }
}
