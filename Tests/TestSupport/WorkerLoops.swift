// SPDX-License-Identifier: Apache-2.0
// Worker threads for async tests.

import GRunLoop

/// Calls the body with a worker thread whose loop runs, and ends the thread afterwards.
public func withWorker<Result: Sendable>(
    function: String = #function, _ body: (GRunLoop) async throws -> Result
) async throws -> Result {
    let worker = try GRunLoop.Thread(name: function)
    do {
        let result = try await body(worker.loop)
        await worker.stopAndWait()
        return result
    } catch {
        await worker.stopAndWait()
        throw error
    }
}
