// SPDX-License-Identifier: Apache-2.0
// Shrinks a diverging program as far as it still diverges.

import LoopScript

struct Shrinker {
    let comparer: Comparer
    /// How long one program may take, in nanoseconds.
    let budget: UInt64

    /// The smallest program found that still diverges, with its traces.
    func shrink(_ program: Program, _ comparison: Comparison) -> (program: Program, comparison: Comparison) {
        let end = Grid.now + budget
        let signature = comparison.signature
        var best = (program: program, comparison: comparison)
        var improved = true
        while improved, Grid.now < end {
            improved = false
            for candidate in Shrinker.candidates(of: best.program) where Grid.now < end {
                // A candidate of an earlier best program may have nothing left to remove.
                guard let smaller = candidate(best.program), let found = diverges(smaller, signature) else { continue }
                best = (program: smaller, comparison: found)
                improved = true
            }
        }
        return best
    }

    /// A candidate must differ in its first run, and in the same way with longer slots.
    private func diverges(_ program: Program, _ signature: String) -> Comparison? {
        guard !comparer.compare(program, slot: comparer.slots.first).agrees else { return nil }
        let second = comparer.compare(program, slot: comparer.slots.first * 3)
        return second.signature == signature ? second : nil
    }

    private typealias Cut = (Program) -> Program?

    /// Ever smaller cuts: halves of the steps, quarters, ..., single steps, whole bodies, single actions.
    private static func candidates(of program: Program) -> [Cut] {
        // Removes everything after the difference, and shortens the waits.
        var cuts: [Cut] = []
        for count in [1, 2, 4, 8, 16, 32].reversed() { cuts.append { $0.keepingSteps(count) } }
        cuts += program.steps.indices.map { index in { $0.hurrying(step: index) } }
        var size = program.steps.count / 2
        while size > 0 {
            for start in stride(from: program.steps.count - size, through: 0, by: -size) {
                let range = start..<start + size
                cuts.append { $0.withoutSteps(range) }
            }
            size /= 2
        }
        for body in program.bodies.indices {
            cuts.append { $0.editingBody(body) { $0.isEmpty ? nil : [] } }
            for call in program.bodies[body].indices {
                for action in program.bodies[body][call].indices.reversed() {
                    cuts.append { $0.editingBody(body) { $0.without(action: action, ofCall: call) } }
                }
            }
        }
        for observer in program.observers.indices {
            for bit: UInt in [1, 2, 4, 32, 64, 128] {
                cuts.append { $0.observer(observer, without: bit) }
            }
        }
        return cuts
    }
}

extension Program {
    fileprivate func withoutSteps(_ range: Range<Int>) -> Program? {
        guard range.upperBound <= steps.count, !range.isEmpty else { return nil }
        var copy = self
        copy.steps.removeSubrange(range)
        return copy
    }

    fileprivate func keepingSteps(_ count: Int) -> Program? { withoutSteps(count..<Swift.max(count, steps.count)) }

    /// The program with a run of one gap instead of a longer one.
    fileprivate func hurrying(step index: Int) -> Program? {
        guard index < steps.count, case .run(let mode, let limit, let returns) = steps[index],
            limit != .gaps(1), limit != .poll
        else { return nil }
        var copy = self
        copy.steps[index] = .run(mode, .gaps(1), returnAfterSourceHandled: returns)
        return copy
    }

    /// The program with another body; `index` counts as `bodies` does.
    fileprivate func editingBody(_ index: Int, _ edit: (Body) -> Body?) -> Program? {
        guard let body = edit(bodies[index]) else { return nil }
        var copy = self
        var left = index
        func reached(_ count: Int) -> Bool {
            if left < count { return true }
            left -= count
            return false
        }
        if reached(sources.count) {
            copy.sources[left].body = body
        } else if reached(ports.count) {
            copy.ports[left].body = body
        } else if reached(timers.count) {
            copy.timers[left].body = body
        } else if reached(observers.count) {
            copy.observers[left].body = body
        } else {
            copy.blocks[left] = body
        }
        return copy
    }

    fileprivate func observer(_ index: Int, without bit: UInt) -> Program? {
        guard observers[index].activities & bit != 0 else { return nil }
        var copy = self
        copy.observers[index].activities &= 0xE7 & ~bit
        return copy
    }

    /// The program without the items that no action names, their bodies being empty.
    var tidied: String {
        let used = allActions.map(\.description).joined(separator: " ") + " "
        return description.split(separator: "\n").filter { line in
            let words = line.split(separator: " ")
            guard words.count > 1, ["source", "port", "timer", "observer", "block"].contains(words[0]) else {
                return true
            }
            return used.contains("\(words[1]) ") || used.contains("\(words[1]);")
        }.joined(separator: "\n")
    }
}

extension Body {
    fileprivate func without(action: Int, ofCall call: Int) -> Body? {
        guard call < count, action < self[call].count else { return nil }
        var copy = self
        copy[call].remove(at: action)
        return copy
    }
}
