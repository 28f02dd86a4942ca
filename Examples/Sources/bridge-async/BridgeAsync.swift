// SPDX-License-Identifier: Apache-2.0
// An async main, as test runners have it: does the main actor still run on the main thread after the first await?
//
// usage: bridge-async BRIDGE

import Bridges
import Foundation
import GRunLoop

@main struct BridgeAsync {
    static func main() async throws {
        guard let bridge = CommandLine.arguments.dropFirst().first.flatMap(Bridge.init) else { exit(2) }
        bridge.install()
        if bridge == .grunloop { GRunLoop.driveAsyncMain() }
        try await Task.sleep(for: .milliseconds(50))
        await MainActor.run {
            print(Foundation.Thread.isMainThread ? "on the main thread" : "on another thread")
        }
    }
}
