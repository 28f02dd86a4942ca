// SPDX-License-Identifier: Apache-2.0
// The violations, each with the command that reproduces it.

import Glibc
import Synchronization
import TestSupport

enum Findings {
    private static let found = Atomic(0)
    private static let mostPrinted = 40
    private static let lastSeed = Atomic<UInt64>(0)
    /// Set by the command line before any other thread exists.
    nonisolated(unsafe) static var arguments: [String] = []

    static var count: Int { found.load(ordering: .relaxed) }

    /// The seed of the running program.
    static var seed: UInt64 {
        get { lastSeed.load(ordering: .relaxed) }
        set { lastSeed.store(newValue, ordering: .relaxed) }
    }

    static func add(_ text: String) {
        guard found.add(1, ordering: .relaxed).newValue <= mostPrinted else { return }
        printToStandardError("conserve: seed \(seed): \(text)\n  repeat: \(command)\n")
    }

    private static var command: String {
        let perturbation = getenv("GRUN_PERTURB").map { "GRUN_PERTURB=\(String(cString: $0)) " } ?? ""
        return ([perturbation + "grun-conserve", "--seed", "\(seed)"] + arguments).joined(separator: " ")
    }
}
