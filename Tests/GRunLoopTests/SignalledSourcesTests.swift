// SPDX-License-Identifier: Apache-2.0
// Compares the list of signalled sources with a list that is sorted for each pass: random signals, removals, performs
// in other modes, nested passes.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The list of signalled sources") struct SignalledSourcesTests {
    /// A mode with sources, and the changes that passes make.
    private final class Model {
        let mode = ModeState(name: "M", isCommon: false)
        let loop: GRunLoop
        let seed: UInt64
        private(set) var sources: [GRunLoop.Source] = []
        private var random: SeededRandom
        private(set) var performed = 0

        init(loop: GRunLoop, seed: UInt64) {
            self.loop = loop
            self.seed = seed
            random = SeededRandom(seed: seed)
            sources = (0..<12).map { GRunLoop.Source(order: $0 % 3) {} }
            for source in sources { join(source) }
        }

        func pick(_ range: Range<Int>) -> Int { .random(in: range, using: &random) }

        private func join(_ source: GRunLoop.Source) {
            loop.lock.withLock { #expect(loop.joinLocked(source, mode)) }
        }

        private func leave(_ source: GRunLoop.Source) {
            let left = loop.lock.withLock { loop.leaveLocked(source, mode) }
            #expect(left != nil)
        }

        /// Performs the source in another mode.
        private func performElsewhere(_ source: GRunLoop.Source) {
            guard source.takeSignal() != nil, let membership = mode.sources[ObjectIdentifier(source)] else { return }
            loop.lock.withLock { mode.signalled.removePerformed(membership) }
        }

        private func isWaiting(_ membership: SourceMembership) -> Bool {
            membership.isListed && membership.source.signalOrder != 0
        }

        /// Makes random changes, as a program does between two performs or two passes.
        func change(depth: Int) {
            for _ in 0..<pick(0..<6) {
                let source = sources[pick(0..<sources.count)]
                switch pick(0..<14) {
                case 0:
                    leave(source)
                    join(source)
                case 1: performElsewhere(source)
                case 2:
                    performElsewhere(source)
                    source.signal()
                case 3 where depth < 3: runPass(returnsAfterSource: false, depth: depth + 1)
                case 4 where depth < 3: runPass(returnsAfterSource: true, depth: depth + 1)
                default: source.signal()
                }
            }
        }

        func runPass(returnsAfterSource: Bool, depth: Int = 0) {
            if let only = mode.signalled.takeOnly() {
                only._withUnsafeGuaranteedRef { _ = $0.source.takeSignal() }
                return
            }
            var turns = mode.sources.values.filter(isWaiting).sorted {
                ($0.source.order, $0.source.signalOrder) < ($1.source.order, $1.source.signalOrder)
            }[...]
            let outer = mode.signalled.beginBatch()
            while true {
                while let next = turns.first, !isWaiting(next) { turns.removeFirst() }
                var found: SourceMembership?
                while found == nil, let next = mode.signalled.nextOfBatch()?.takeUnretainedValue() {
                    mode.signalled.remove(next)
                    if next.source.takeSignal() != nil { found = next }
                }
                #expect(found === turns.popFirst(), "seed \(seed)")
                guard found != nil else { break }
                performed += 1
                if returnsAfterSource { break }
                change(depth: depth)
                // Ends the batch as a used-up time slice does.
                if pick(0..<6) == 0 { break }
            }
            _ = mode.signalled.endBatch(resuming: outer)
        }

        func end() {
            for source in sources { leave(source) }
            #expect(mode.signalled.isEmpty)
        }
    }

    @Test(
        "items 90, 91, 93, 95: a pass performs the sources that were signalled before, in order, whatever callouts do",
        arguments: 0..<60)
    func againstModel(seed: UInt64) async throws {
        try await onFreshThread { loop in
            let model = Model(loop: loop, seed: seed)
            for _ in 0..<200 {
                model.change(depth: 0)
                model.runPass(returnsAfterSource: model.pick(0..<4) == 0)
            }
            #expect(model.performed > 100)
            model.end()
        }
    }
}
