// SPDX-License-Identifier: Apache-2.0
// The bridge of programs that poll: a GLib timeout makes a pass of Foundation's run loop at least every 50 ms.

import CGRunGLib
import Foundation

enum PollingBridge {
    static func install() { arm(after: 0.05) }

    private static func arm(after seconds: Double) {
        let milliseconds = UInt32(max(0, min(50, seconds * 1000)).rounded(.up))
        g_timeout_add_full(
            G_PRIORITY_DEFAULT, milliseconds,
            { _ in
                let next = RunLoop.main.limitDate(forMode: .default)
                PollingBridge.arm(after: next?.timeIntervalSinceNow ?? 0.05)
                return 0
            }, nil, nil)
    }
}
