// SPDX-License-Identifier: Apache-2.0
// The real CFRunLoop as a guest: while it sleeps our loop of the thread does so in its place. Nothing of its contract
// may move.

import Foundation
import GRunLoop
import GRunLoopFoundation
import LoopScript

final class ServedCFFace: CFFace {
    private var serving: GRunLoop.Serving?

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
        serving?.end()
        serving = nil
    }
}
