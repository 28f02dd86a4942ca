// SPDX-License-Identifier: Apache-2.0
// Planted faults. scripts/check-testing turns them on one by one, and a test must notice each fault.

import CGtk

public enum Fault: String {
    case slowSearch, everySearch, deadAutosave, leakedTimer, deadButton, wrongAnswer, blockedLoop, lostError, noBackoff
    case staleLabel
    /// Ends the process. The test run must end as well, and report the crash by its status.
    case crash

    private static let planted = getenv("FINDER_FAULT").map { String(cString: $0) }

    var isPlanted: Bool { rawValue == Self.planted }
}
