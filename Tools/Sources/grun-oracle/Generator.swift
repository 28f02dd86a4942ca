// SPDX-License-Identifier: Apache-2.0
// Makes a program from a seed.

import LoopScript

/// The distribution from which a program's actions are drawn. Each program has its own mixture: some consist of timers
/// only, some of nested runs only.
struct Generator {
    private enum Kind {
        case run, signal, makeReady, perform, wakeUp, stop, add, remove, invalidate, move, addCommonMode, query, busy
    }

    private var random: SplitMix
    private var program = Program()
    /// The item whose callout gets the next action.
    private var host: ItemID?
    private let modes: [ModeName]
    private var mixture: [(weight: Int, value: Kind)] = []
    private var calloutMixture: [(weight: Int, value: Kind)] = []

    private let hasLongCallouts: Bool

    private init(seed: UInt64, hasLongCallouts: Bool) {
        self.hasLongCallouts = hasLongCallouts
        random = SplitMix(seed: seed)
        modes = random.pick([["default"], ["default", "A"], ["default", "A"], ["default", "A", "B"]])
    }

    /// Makes the program of a seed, with this many top-level steps.
    ///
    /// - Parameter hasLongCallouts: many callouts are busy until the next gap, for 5 to 8 ms. The runs have no deadline
    ///   or a far one, because a script is not busy across a deadline (`Rule.busyDeadline`).
    static func program(seed: UInt64, steps: Int, hasLongCallouts: Bool = false) -> Program {
        var generator = Generator(seed: seed, hasLongCallouts: hasLongCallouts)
        generator.makeMixtures()
        generator.makeItems()
        generator.makeSteps(steps)
        generator.makeBodies(actions: steps)
        generator.orderCommonObservers()
        return generator.program
    }

    private mutating func makeMixtures() {
        let base: [(Int, Kind)] = [
            (18, .signal), (10, .makeReady), (10, .perform), (6, .wakeUp), (4, .stop), (9, .add), (6, .remove),
            (5, .invalidate), (6, .move), (3, .addCommonMode), (10, .query), (2, .busy),
        ]
        for (weight, kind) in base {
            let factor = random.pick([0, 1, 1, 1, 2])
            mixture.append((weight: weight * factor + 1, value: kind))
            calloutMixture.append((weight: weight * random.pick([0, 1, 1, 2, 3]) + 1, value: kind))
        }
        if hasLongCallouts { calloutMixture.append((weight: 50, value: .busy)) }
        let total = mixture.reduce(0) { $0 + $1.weight }
        mixture.append((weight: total * random.pick([20, 30, 50]) / 100, value: .run))
        let calloutTotal = calloutMixture.reduce(0) { $0 + $1.weight }
        calloutMixture.append((weight: calloutTotal * random.pick([0, 8, 15, 25]) / 100 + 1, value: .run))
    }

    private mutating func makeItems() {
        program.sources = (0..<random.number(0...4)).map { _ in
            SourceSpec(order: random.pick([0, 0, 0, -1, 1, 2]))
        }
        program.ports = (0..<random.number(0...3)).map { _ in PortSpec() }
        program.timers = (0..<random.number(0...5)).map { _ in makeTimer() }
        program.observers = (0..<random.number(0...4)).map { _ in
            ObserverSpec(
                makeActivities(), repeats: random.chance(85), order: random.pick([0, 0, -1, 1]))
        }
        program.blocks = (0..<random.number(1...4)).map { _ in [] }
    }

    private mutating func makeTimer() -> TimerSpec {
        if random.chance(45) { return TimerSpec(at: random.number(0...10), every: random.number(1...3)) }
        return TimerSpec(at: random.chance(20) ? nil : random.number(0...14))
    }

    private mutating func makeActivities() -> UInt {
        if random.chance(35) { return 0x0FFF_FFFF }
        let bits: [UInt] = [1, 2, 4, 32, 64, 128]
        if random.chance(50) { return random.pick(bits) }
        return bits.reduce(0) { mask, bit in random.chance(50) ? mask | bit : mask } | random.pick(bits)
    }

    private mutating func makeSteps(_ count: Int) {
        // Most items join a mode first, because otherwise nothing would happen.
        for item in program.items where program.steps.count < count && random.chance(80) {
            program.steps.append(.add(item, makeModeForItem()))
        }
        while program.steps.count < count {
            if let action = makeAction(random.pick(weighted: mixture), nested: false) {
                program.steps.append(action)
            }
        }
    }

    private mutating func makeBodies(actions: Int) {
        var budget = actions
        while budget > 0 {
            budget -= 1
            let item = random.number(0...program.items.count + program.blocks.count - 1)
            host = item < program.items.count ? program.items[item] : nil
            guard let action = makeAction(random.pick(weighted: calloutMixture), nested: true) else { continue }
            let call = random.pick([0, 0, 0, 0, 1, 1, 2, 3])
            program.append(action, toCallout: item, call: call)
        }
    }

    /// Core Foundation keeps common items in a hash set: see `Rule.commonItemOrder`.
    private mutating func orderCommonObservers() {
        // Orders below, between and above those of the other observers, all different.
        var orders = [-20, -10, 10, 20]
        for index in program.observers.indices {
            let isCommon = program.allActions.contains {
                if case .add(.observer(index), "common") = $0 { true } else { false }
            }
            if isCommon { program.observers[index].order = orders.remove(at: random.number(0...orders.count - 1)) }
        }
    }

    // MARK: One action

    private mutating func makeAction(_ kind: Kind, nested: Bool) -> Action? {
        switch kind {
        case .run: return makeRun(nested: nested)
        case .signal: return program.sources.isEmpty ? nil : .signal(random.pick(Array(program.sources.indices)))
        case .makeReady: return program.ports.isEmpty ? nil : .makeReady(random.pick(Array(program.ports.indices)))
        case .perform: return .perform(random.pick(Array(program.blocks.indices)), makeModesForBlock())
        case .wakeUp: return .wakeUp
        case .stop: return .stop
        case .add: return program.items.isEmpty ? nil : .add(random.pick(program.items), makeModeForItem())
        case .remove: return program.items.isEmpty ? nil : .remove(makeVictim(), makeModeForItem())
        case .invalidate: return program.items.isEmpty ? nil : .invalidate(makeVictim())
        case .move: return makeMove()
        case .addCommonMode: return .addCommonMode(random.pick(modes))
        case .query: return .query(makeQuery())
        case .busy: return .busy(hasLongCallouts ? 1 : random.number(1...3))
        }
    }

    private mutating func makeRun(nested: Bool) -> Action {
        let far = hasLongCallouts ? 60 : 0
        let limits: [(weight: Int, value: RunLimit)] = [
            (far, .poll), (far, .gaps(4)), (nested ? 40 : 25, .poll), (2, .negative), (45, .gaps(1)), (20, .gaps(2)),
            (nested ? 3 : 10, .gaps(4)),
            (nested ? 0 : 3, .forever),
        ]
        let mode = random.chance(1) ? "common" : random.pick(modes)
        return .run(mode, random.pick(weighted: limits), returnAfterSourceHandled: random.chance(40))
    }

    private mutating func makeMove() -> Action? {
        guard !program.timers.isEmpty else { return nil }
        let timer = random.pick(Array(program.timers.indices))
        // A repeating timer with a past date would leave its grid slot forever.
        let past = program.timers[timer].intervalGaps == 0 && random.chance(30)
        return .move(timer, past ? nil : random.number(1...5))
    }

    /// Chooses the item to remove: often of the called kind, because the order within a stage matters there.
    private mutating func makeVictim() -> ItemID {
        let alike = program.items.filter { item in host.map { item.isLike($0) && item != $0 } ?? false }
        return alike.isEmpty || random.chance(40) ? random.pick(program.items) : random.pick(alike)
    }

    private mutating func makeModeForItem() -> ModeName {
        random.chance(25) ? "common" : random.pick(modes)
    }

    private mutating func makeModesForBlock() -> [ModeName] {
        if random.chance(25) { return ["common"] }
        if random.chance(25) { return (modes + ["common"]).filter { _ in random.chance(60) }.orDefault }
        return [random.pick(modes)]
    }

    private mutating func makeQuery() -> Query {
        let item = program.items.isEmpty ? nil : random.pick(program.items)
        switch random.number(0...7) {
        case 0: return .currentMode
        case 1: return .allModes
        case 2: return .nextFireDate(random.pick(modes))
        case 3: return program.timers.isEmpty ? .isWaiting : .timerDate(random.pick(Array(program.timers.indices)))
        case 4:
            return program.sources.isEmpty
                ? .currentMode : .isSignalled(random.pick(Array(program.sources.indices)))
        case 5: return item.map(Query.isValid) ?? .allModes
        default: return item.map { .contains($0, makeModeForItem()) } ?? .allModes
        }
    }
}

extension ItemID {
    fileprivate func isLike(_ other: ItemID) -> Bool {
        switch (self, other) {
        case (.source, .source), (.port, .port), (.timer, .timer), (.observer, .observer): true
        default: false
        }
    }
}

extension [ModeName] {
    fileprivate var orDefault: [ModeName] { isEmpty ? ["default"] : self }
}

extension Program {
    /// Appends an action to the n-th call of a callout; callouts are counted over the items and then the blocks.
    mutating func append(_ action: Action, toCallout index: Int, call: Int) {
        func grow(_ body: inout Body) {
            while body.count <= call { body.append([]) }
            body[call].append(action)
        }
        guard index < items.count else {
            grow(&blocks[index - items.count])
            return
        }
        switch items[index] {
        case .source(let index): grow(&sources[index].body)
        case .port(let index): grow(&ports[index].body)
        case .timer(let index): grow(&timers[index].body)
        case .observer(let index): grow(&observers[index].body)
        }
    }
}
