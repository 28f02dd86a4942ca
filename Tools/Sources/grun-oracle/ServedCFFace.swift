// SPDX-License-Identifier: Apache-2.0
// The real CFRunLoop as a guest: GRunLoop sleeps in its place. CFRunLoop's behaviour must not change.

import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import LoopScript

/// The reference for a served loop.
final class LookingCFFace: CFFace {
    override var looksAtEpolls: Bool { true }
}

final class ServedCFFace: CFFace {
    private var serving: GRunLoop.Serving?

    override var looksAtEpolls: Bool { true }

    override func begin(_ program: Program, grid: Grid, callouts: any ScriptCallouts) {
        do {
            serving = try GRunLoop.current.serve(RunLoop.current)
        } catch {
            fatalError("\(error)")
        }
        super.begin(program, grid: grid, callouts: callouts)
    }

    override func end() {
        super.end()
        serving?.cancel()
        serving = nil
    }
}

/// The epolls of a loop's modes.
func modeEpolls(of loop: CFRunLoop?) -> [Int32] {
    let text = CFCopyDescription(loop).map { "\($0)" } ?? ""
    return text.components(separatedBy: "port set = 0x").dropFirst().compactMap {
        Int32($0.prefix { $0.isHexDigit }, radix: 16)
    }
}
