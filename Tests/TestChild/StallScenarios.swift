// SPDX-License-Identifier: Apache-2.0
// What a program's environment asks for.

import GRunLoop
import Glibc
import TestSupport

/// The main loop, and another thread's; nothing in the program says that they are watched.
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

/// It is said once, by the first loop that runs.
func stallsWithoutASpan() throws {
    setenv("GRUN_STALLS", "soon", 1)
    GRunLoop.main.perform { work(for: .milliseconds(50)) }
    GRunLoop.main.run(for: .zero)
}
