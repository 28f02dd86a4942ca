// SPDX-License-Identifier: Apache-2.0
// Stall reports that the environment of a program asks for.

import GRunLoop
import Glibc
import TestSupport

/// The main loop and another thread's loop stall. No code of the program asks for reports.
func stallsAreLogged() throws {
    setenv("GRUN_STALLS", "20ms", 1)
    GRunLoop.main.perform { stallLongEnough() }
    GRunLoop.main.run(for: .zero)
    let thread = startThread {
        GRunLoop.current.perform { stallLongEnough() }
        GRunLoop.current.run(for: .zero)
    }
    join(thread)
}

@inline(never) private func stallLongEnough() { work(for: .milliseconds(400)) }

/// The first loop that runs logs the missing time span once.
func stallsWithoutASpan() throws {
    setenv("GRUN_STALLS", "soon", 1)
    GRunLoop.main.perform { work(for: .milliseconds(50)) }
    GRunLoop.main.run(for: .zero)
}
