// SPDX-License-Identifier: Apache-2.0
// Storms of processes.

import GRunLoopGIO

extension KindMaker {
    static let processes = [
        KindMaker(name: "communicate") { setting in
            Kind(name: "communicate", count: max(1, setting.count / 10)) { _, number in
                let words = number.isMultiple(of: 2) ? ["cat"] : ["sleep", "0.1"]
                let process = try GIO.Subprocess(words, input: .pipe, output: .pipe, error: .pipe)
                Census.add(process.pointer)
                // Cancelling the call does not end the process.
                defer { process.kill() }
                let output = try await process.communicate(input: [1, 2, 3]).output
                if number.isMultiple(of: 2), output != [1, 2, 3] { throw Finding("cat has written \(output)") }
            }
        },
        KindMaker(name: "GIO.run") { setting in
            Kind(name: "GIO.run", count: max(1, setting.count / 10)) { _, number in
                let grace = number.isMultiple(of: 3) ? Duration.zero : .seconds(5)
                let outcome = try await GIO.run(["sleep", "0.1"], input: [1], error: .pipe, grace: grace)
                if !outcome.status.isSuccess { throw Finding("sleep has the status \(outcome.status)") }
            }
        },
    ]
}
