// SPDX-License-Identifier: Apache-2.0
// Misuse and shortages that end the process. scripts/check-ends runs the same programs in a release build.

import Glibc
import TestSupport
import Testing

@Suite("What ends the process") struct ProcessEndTests {
    @Test("each end of the process prints its message once, and aborts")
    func messages() async throws {
        // Uses a fresh thread, because the pool has few threads, which the tasks of other tests need.
        try await onFreshThread(timeout: Patience.normal * 10) { _ in
            let ends = runChild("ends").output.map { $0.split(separator: "\t").map(String.init) }
            #expect(ends.count > 10)
            for end in ends {
                let child = runChild(end[0])
                #expect(child.signal == SIGABRT, "\(end[0]): \(child.status ?? -1), \(child.output)")
                #expect(child.errorCount(of: end[1]) == 1, "\(end[0]): \(child.errors)")
                #expect(child.output.allSatisfy { harmless.contains($0) }, "\(end[0]): \(child.output)")
            }
        }
    }
}

/// The scenarios print these lines before the misuse.
private let harmless: Set = ["before", "made", "isolated: false", "on its thread: passed"]
