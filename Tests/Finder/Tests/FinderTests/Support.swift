// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRunLoopTesting
import Testing

/// The tests run one at a time, because they share the main loop's clock and GTK's focus.
@MainActor @Suite(.mainLoop) struct Finder {}

/// Makes a file with these lines while the closure runs.
@MainActor func withFile(_ lines: [String], _ body: @MainActor (String) async throws -> Void) async throws {
    let file = FileManager.default.temporaryDirectory.appending(component: "finder-\(UUID().uuidString)")
    try Data(lines.joined(separator: "\n").utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await body(file.path)
}

/// Whether this is the main thread.
func isOnMainThread() -> Bool { Thread.isMainThread }
