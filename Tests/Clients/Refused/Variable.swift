// SPDX-License-Identifier: Apache-2.0
// Captured variables obey the same rule as captured objects.
import GRunLoop

func start() throws {
    _ = try GRunLoop.Thread { here in
        var count = 0
        _ = GRunLoop.Source(isolation: here) { count += 1 }
        Task.detached { count += 1 }  // error: risks causing data races
    }
}
