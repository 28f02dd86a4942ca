// SPDX-License-Identifier: Apache-2.0
// Compares descriptors that are serviced in a row, without passes between them, with a traced loop. A traced loop makes
// every pass and must make the same calls.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import TestSupport
import Testing

@Suite("Descriptors in a row") struct DescriptorRowTests {
    /// Makes random callouts by a seed, until there were `limit` of them.
    private final class Script: @unchecked Sendable {
        private let loop: GRunLoop
        private var random: SeededRandom
        private let pipes = (0..<6).map { _ in Pipe() }
        private var sources: [GRunLoop.DescriptorSource] = []
        private var signalled: [GRunLoop.Source] = []
        private(set) var calls: [String] = []
        private var depth = 0
        private var pushed: GRunLoop.PushedMode?
        /// After a source, only a traced loop asks a host for ready sources, so one iteration of a foreign loop then
        /// serves more. Hosted scripts signal no sources, to make the same calls in both.
        private let isHosted: Bool
        static let limit = 200
        /// A time slice that never ends.
        static let endless = Duration.seconds(3600)

        init(seed: UInt64, on loop: GRunLoop, isHosted: Bool) throws {
            self.loop = loop
            self.isHosted = isHosted
            random = SeededRandom(seed: seed)
            for (number, pipe) in pipes.enumerated() {
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { [unowned self] _, _ in
                    // The first descriptor is always ready, so the loop does not sleep.
                    if number > 0 { pipe.drain() }
                    step("descriptor \(number)")
                }
                sources.append(source)
                try loop.add(source, forMode: .common)
            }
            signalled = (0..<2).map { number in
                loop.source(order: number) { [unowned self] in step("source \(number)") }
            }
            pipes[0].send()
        }

        var isOver: Bool { calls.count >= Self.limit }

        private func number(_ range: Range<Int>) -> Int { .random(in: range, using: &random) }

        private func step(_ call: String) {
            calls.append("\(depth): \(call)")
            if isOver {
                // Ends a host's time slice too.
                loop.timeSlice = .zero
                return loop.stop()
            }
            for _ in 0..<number(0..<3) { act() }
        }

        private func act() {
            switch number(0..<17) {
            case 0: loop.perform { [unowned self] in step("block") }
            case 1: loop.perform(inModes: [.default, .common]) { [unowned self] in step("block for two") }
            case 2 where !isHosted: signalled[number(0..<2)].signal()
            case 3:
                loop.add(
                    GRunLoop.Timer(fireAt: GRunLoop.distantPast) { [unowned self] _ in step("timer") }, forMode: .common
                )
            case 4: loop.wakeUp()
            case 5:
                let source = sources[number(1..<sources.count)]
                if loop.contains(source, forMode: .common) {
                    loop.remove(source, forMode: .common)
                } else {
                    try? loop.add(source, forMode: .common)
                }
            case 6 where depth < 2:
                depth += 1
                let result = loop.run(for: .zero, returningAfterSourceHandled: number(0..<2) == 0)
                depth -= 1
                calls.append("\(depth): nested \(result)")
            case 7:
                loop.add(
                    GRunLoop.Observer(activities: .beforeSources, repeats: false) { [unowned self] _, _ in
                        step("observer")
                    },
                    forMode: .default)
            case 8: loop.stop()
            case 9 where depth < 2:
                // Acts as a foreign loop, which services one item.
                depth += 1
                loop.timeSlice = .zero
                g_main_context_iteration(loop.homeContext?.pointer, 0)
                if !isOver { loop.timeSlice = Self.endless }
                depth -= 1
                calls.append("\(depth): iterated")
            case 10:
                if let pushed {
                    pushed.pop()
                    self.pushed = nil
                } else {
                    pushed = try? loop.push(ambientMode: .tracking)
                }
            default: pipes[number(1..<pipes.count)].send()
            }
        }

        /// Makes runs without a real limit, because a run with a limit reads the clock after every pass.
        func drive() {
            while !isOver {
                let result = loop.run(for: .seconds(10_000_000_000), returningAfterSourceHandled: number(0..<3) == 0)
                calls.append("\(result)")
            }
        }
    }

    private func calls(seed: UInt64, isTraced: Bool, isHosted: Bool) async throws -> [String] {
        try await onFreshThread { loop in
            loop.timeSlice = Script.endless
            let trace = GRunLoop.Trace()
            let script = try Script(seed: seed, on: loop, isHosted: isHosted)
            if isTraced { loop.startTracing(trace) }
            if isHosted {
                iterateHost(loop.homeContext?.pointer) { script.isOver }
            } else {
                script.drive()
            }
            if isTraced { loop.stopTracing() }
            // Drops later calls. Their number depends on when the loop reads the clock.
            return Array(script.calls.prefix(Script.limit))
        }
    }

    /// The last seed covers sources that were removed: their remains must not count as ready.
    private static let seeds: [UInt64] = Array(0..<60) + [560]

    @Test(
        "items 43, 103: descriptors in a row are called in the order of single passes", arguments: seeds,
        [false, true])
    func sameOrder(seed: UInt64, isHosted: Bool) async throws {
        let inRows = try await calls(seed: seed, isTraced: false, isHosted: isHosted)
        let passByPass = try await calls(seed: seed, isTraced: true, isHosted: isHosted)
        #expect(inRows.count == Script.limit && passByPass.count == Script.limit)
        let difference = zip(inRows, passByPass).enumerated().first { $1.0 != $1.1 }
        #expect(difference == nil, "seed \(seed): call \(difference.map { "\($0)" } ?? "")")
    }
}
