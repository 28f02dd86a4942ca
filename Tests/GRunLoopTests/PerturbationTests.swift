// SPDX-License-Identifier: Apache-2.0
// A debug build can perturb its own timing. The seed decides the deviations, and wrong settings are refused.

import TestSupport
import Testing

@Suite("Perturbed timing") struct PerturbationTests {
    @Test("a perturbed time slice ends after each item, and the report of the process counts it")
    func slice() throws {
        let child = runChild("perturbed-slice")
        #expect(child.status == 0)
        #expect(child.output.prefix(3) == ["block 1", "timer", "block 2"])
        let report = child.output.dropFirst(3).map { $0.split(separator: " ") }
        #expect(report.count == 15)
        for figures in report {
            let hits = try #require(Int(figures[1]))
            #expect(figures[0] == "slice" ? hits > 0 : hits == 0, "\(figures)")
        }
    }

    @Test("sites that are not named do not deviate: a pass keeps its usual order")
    func others() {
        let child = runChild("perturbed-elsewhere")
        #expect(child.status == 0)
        #expect(child.output == ["block 1", "block 2", "timer"])
    }

    @Test("an invalid GRUN_PERTURB ends the process with a message")
    func nonsense() {
        let child = runChild("perturbed-by-nonsense")
        #expect(child.status == 2)
        #expect(child.errors.contains("GRUN_PERTURB=7,20,slices is not valid"))
        #expect(child.output.isEmpty)
    }
}
