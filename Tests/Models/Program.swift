// SPDX-License-Identifier: Apache-2.0
// A program: the random operations that one model makes with one seed.

import Glibc

struct Program {
    let model: any Model.Type
    let seed: UInt64

    /// Runs the given operations, whose numbers are below the model's length.
    func run(_ operations: some Sequence<Int>) throws {
        // Ends the process if the container hangs.
        alarm(10)
        var random = Random(seed: seed)
        let model = model.init(&random)
        for operation in operations {
            var random = Random(seed: seed, operation: operation)
            try model.step(&random)
        }
        try model.finish()
        alarm(0)
    }
}

/// The code of a child process. The parent process survives a crash of the child.
enum Child {
    /// The parent reads the failed program's seed from this descriptor.
    static let seedDescriptor: Int32 = 3

    /// Runs programs of one model until they have made this many operations.
    static func run(_ model: any Model.Type, from firstSeed: UInt64, operations: Int) -> Int32 {
        var seed = firstSeed
        var left = operations
        while left > 0 {
            withUnsafeBytes(of: seed) { _ = pwrite(seedDescriptor, $0.baseAddress, $0.count, 0) }
            let length = Swift.min(left, model.length)
            do { try Program(model: model, seed: seed).run(0..<length) } catch { return tell(error) }
            left -= length
            seed += 1
        }
        return 0
    }

    /// Runs some operations of one program, and prints them if asked to.
    static func replay(_ model: any Model.Type, _ seed: UInt64, _ operations: [Int], tells: Bool) -> Int32 {
        Journal.isOpen = tells
        do { try Program(model: model, seed: seed).run(operations) } catch { return tells ? tell(error) : 1 }
        return 0
    }

    private static func tell(_ error: any Error) -> Int32 {
        say("    \((error as? Mismatch)?.text ?? "\(error)")")
        return 1
    }
}
