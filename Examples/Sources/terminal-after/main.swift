// SPDX-License-Identifier: Apache-2.0
// A program in a terminal with a bridge of its own (terminal-before) or with GRunLoop (terminal-after).

import CGRunGLib
import Foundation
import GRunLoop
import Measuring

/// Calls a handler of the program. Any thread.
func handle(_ body: @escaping @Sendable () -> Void) { GRunLoop.main.async(body) }

// MARK: The terminal

func readKeys(_ onKey: @escaping @Sendable (UInt8) -> Void) {
    let keys = Thread {
        var key: UInt8 = 0
        while read(STDIN_FILENO, &key, 1) == 1 {
            let pressed = key
            handle { onKey(pressed) }
        }
    }
    keys.start()
}

/// Asks a question, and waits for the answer in a loop of its own.
func ask(_ question: String) {
    print(question)
    MainLoop().run(atMost: 5)
}

_ = GRunLoop.main
readKeys { key in
    if key == UInt8(ascii: "q") { ask("Quit?") }
}
Gain.measureIfAsked { handle($0) }
g_main_loop_run(g_main_loop_new(nil, 0))
