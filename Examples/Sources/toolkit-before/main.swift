// SPDX-License-Identifier: Apache-2.0
// A declarative toolkit, whose backend polls Foundation's run loop (toolkit-before) or serves it (toolkit-after).

import CGRunGLib
import Foundation
import Measuring

// MARK: The backend of the toolkit

enum Backend {
    static func runMainLoop(_ start: () -> Void) {
        pollFoundation()
        start()
        g_main_loop_run(g_main_loop_new(nil, 0))
    }

    /// Calls the closure on the main thread. Any thread.
    static func runInMainThread(_ action: @escaping @Sendable () -> Void) { onIdle(action) }

    private static func pollFoundation() {
        onTimeout(every: 50) { _ = RunLoop.main.limitDate(forMode: .default) }
    }
}

// MARK: The toolkit

protocol App {
    init()
    var body: String { get }
}

extension App {
    static func main() {
        Backend.runMainLoop {
            let app = Self()
            print(app.body)
            Gain.measureIfAsked()
        }
    }
}

// MARK: A program

struct Greeting: App {
    var body: String { "hello" }

    init() {
        Task { @MainActor in
            try await Task.sleep(for: .milliseconds(100))
            print("loaded")
        }
        Backend.runInMainThread { print("idle") }
    }
}

Greeting.main()
