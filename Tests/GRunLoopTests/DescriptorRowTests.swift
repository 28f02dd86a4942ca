// SPDX-License-Identifier: Apache-2.0
// Descriptors that are serviced in a row, without the passes between them, against the same calls with every pass: a traced loop makes each.

import GRunLoop
import TestSupport
import Testing

@Suite("Descriptors in a row") struct DescriptorRowTests {
    /// Callouts that do this and that, chosen by a seed, until there were `limit` of them.
    private final class Script: @unchecked Sendable {
        private let loop: GRunLoop
        private var random: SeededRandom
        private let pipes = (0..<6).map { _ in Pipe() }
        private var sources: [GRunLoop.DescriptorSource] = []
        private var signalled: [GRunLoop.Source] = []
        private(set) var calls: [String] = []
        private var depth = 0
        static let limit = 200

        init(seed: UInt64, on loop: GRunLoop) throws {
            self.loop = loop
            random = SeededRandom(seed: seed)
            for (number, pipe) in pipes.enumerated() {
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { [unowned self] _, _ in
                    // The first is ready for ever: the loop does not sleep.
                    if number > 0 { pipe.drain() }
                    step("descriptor \(number)")
                }
                sources.append(source)
                try loop.add(source, forMode: .default)
            }
            signalled = (0..<2).map { number in loop.source(order: number) { [unowned self] in step("source \(number)") } }
            pipes[0].send()
        }

        var isOver: Bool { calls.count >= Self.limit }

        private func number(_ range: Range<Int>) -> Int { .random(in: range, using: &random) }

        private func step(_ call: String) {
            calls.append("\(depth): \(call)")
            if isOver {
                // A host's slice is over, too.
                loop.hostTimeSlice = .zero
                return loop.stop()
            }
            for _ in 0..<number(0..<3) { act() }
        }

        private func act() {
            switch number(0..<14) {
            case 0: loop.perform { [unowned self] in step("block") }
            case 1: loop.perform(inModes: [.default, .common]) { [unowned self] in step("block for two") }
            case 2: signalled[number(0..<2)].signal()
            case 3: loop.add(GRunLoop.Timer(fireAt: GRunLoop.distantPast) { [unowned self] _ in step("timer") }, forMode: .default)
            case 4: loop.wakeUp()
            case 5:
                let source = sources[number(1..<sources.count)]
                if loop.contains(source, forMode: .default) {
                    loop.remove(source, forMode: .default)
                } else {
                    try? loop.add(source, forMode: .default)
                }
            case 6 where depth < 2:
                depth += 1
                let result = loop.run(for: .zero, returningAfterSourceHandled: number(0..<2) == 0)
                depth -= 1
                calls.append("\(depth): nested \(result)")
            case 7:
                loop.add(
                    GRunLoop.Observer(activities: .beforeSources, repeats: false) { [unowned self] _, _ in step("observer") },
                    forMode: .default)
            case 8: loop.stop()
            default: pipes[number(1..<pipes.count)].send()
            }
        }

        /// Run after run, each without a limit: one that has one looks at the clock after every pass.
        func drive() {
            while !isOver {
                let result = loop.run(for: .seconds(10_000_000_000), returningAfterSourceHandled: number(0..<3) == 0)
                calls.append("\(result)")
            }
        }
    }

    private func calls(seed: UInt64, isTraced: Bool, isHosted: Bool) async throws -> [String] {
        try await onFreshThread { loop in
            // No clock decides.
            loop.hostTimeSlice = .seconds(3600)
            let trace = GRunLoop.Trace()
            let script = try Script(seed: seed, on: loop)
            if isTraced { loop.startTracing(trace) }
            if isHosted {
                iterateHost(loop.homeContext) { script.isOver }
            } else {
                script.drive()
            }
            if isTraced { loop.stopTracing() }
            // What comes behind it is until the clock is looked at.
            return Array(script.calls.prefix(Script.limit))
        }
    }

    @Test("items 43, 103: in a row, everything is called in the order in which passes call it", arguments: 0..<60, [false, true])
    func sameOrder(seed: UInt64, isHosted: Bool) async throws {
        let inRows = try await calls(seed: seed, isTraced: false, isHosted: isHosted)
        let passByPass = try await calls(seed: seed, isTraced: true, isHosted: isHosted)
        #expect(inRows.count == Script.limit && passByPass.count == Script.limit)
        let difference = zip(inRows, passByPass).enumerated().first { $1.0 != $1.1 }
        #expect(difference == nil, "seed \(seed): call \(difference.map { "\($0)" } ?? "")")
    }
}
