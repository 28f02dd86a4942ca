// SPDX-License-Identifier: Apache-2.0
// How the executor carries out each action.

extension Executor {
    func perform(_ action: Action) {
        guard !isExhausted else { return }
        if let rule = reasonToSkip(action) {
            count(rule)
            record("skipped (\(rule.rawValue)): \(action)")
            return
        }
        if inAfterWaiting, action.takesAway { note(.taking) }
        switch action {
        case .add(let item, let mode):
            if mode == "common", face.isValid(item) { commonItems.insert(item) }
            face.add(item, to: mode)
        case .remove(let item, let mode):
            if mode == "common" { commonItems.remove(item) }
            face.remove(item, from: mode)
        case .invalidate(let item): face.invalidate(item)
        case .addCommonMode(let mode):
            commonModes.insert(mode)
            face.addCommonMode(mode)
        case .signal(let source): signal(source)
        case .makeReady(let port):
            writtenPorts.insert(port)
            face.makeReady(port: port)
        case .wakeUp: face.wakeUp()
        case .stop:
            if let run = activations.last { activeRuns.stop(run.id) { face.stop() } } else { face.stop() }
        case .perform(let block, let modes):
            face.perform(inModes: modes) { [unowned self] in performed(block: block) }
        case .move(let timer, let gaps): move(timer, gaps)
        case .run(let mode, let limit, let returns): run(mode, limit, returns)
        case .busy(let gaps):
            Grid.sleep(until: grid.date(gap: grid.gap + gaps, slot: Grid.busySlot))
        case .query(let query): record("\(query): \(answer(query))")
        }
        statistics.count(action.name)
        for note in notes.sorted() { record(note) }
        notes.removeAll()
    }

    private func signal(_ source: Int) {
        if !face.isSignalled(source: source) {
            signals += 1
            signalOrder[source] = signals
        }
        face.signal(source: source)
    }

    private func move(_ timer: Int, _ gaps: Int?) {
        if isFiring(timer) { movedWhileFiring.insert(timer) }
        face.setDate(ofTimer: timer, to: grid.date(ofTimer: timer, gap: gaps.map { grid.gap + $0 }))
    }

    private func run(_ mode: ModeName, _ limit: RunLimit, _ returns: Bool) {
        let gap = grid.gap
        guard activations.count < Grid.maximumDepth, gap < Executor.maximumGap else {
            record("no further run")
            return
        }
        runCount += 1
        var activation = Activation(id: runCount, mode: mode, returnsAfterSource: returns)
        let time: RunTime
        switch limit {
        case .poll: time = .seconds(0)
        case .negative: time = .seconds(-1)
        case .gaps(let count):
            let date = grid.date(
                gap: gap + max(count, 1), slot: Grid.firstDeadlineSlot + UInt64(activations.count))
            activation.deadline = date
            time = .until(date)
        case .forever:
            time = .forever
        }
        record("run \(mode) for \(limit)\(returns ? ", returning after a source" : "") \(when)")
        activations.append(activation)
        activeRuns.push(activation.id)
        if case .forever = limit {
            Executor.stop(activation.id, of: activeRuns, in: gap + Executor.endlessGaps, of: grid, Lent(value: face))
        }
        let end = face.run(mode, time, returnAfterSourceHandled: returns)
        activeRuns.pop()
        activations.removeLast()
        record("-> \(end) \(when)")
        statistics.count("run -> \(end)")
        statistics.count("depth \(activations.count + 1)")
        if !activations.isEmpty { afterNestedRun() }
    }

    /// Ends a run without a limit from another thread, in a gap in which it is the innermost run: in this gap or in a
    /// later one.
    private static func stop(
        _ run: Int, of runs: ActiveRuns, in gap: Int, of grid: Grid, _ face: Lent<any LoopFace>
    ) {
        atDate(grid.date(gap: gap, slot: Grid.outsideSlot)) {
            guard runs.stop(run, { face.value.stop() }) else { return }
            stop(run, of: runs, in: gap + 2, of: grid, face)
        }
    }

    private func answer(_ query: Query) -> String {
        switch query {
        case .contains(let item, let mode): "\(face.contains(item, in: mode))"
        case .isValid(let item): "\(face.isValid(item))"
        case .isSignalled(let source): "\(face.isSignalled(source: source))"
        case .currentMode: face.currentMode ?? "none"
        case .allModes: allModes
        case .nextFireDate(let mode):
            // Item 142: the date of a mode is not defined while a timer of the mode fires.
            if firingTimers.contains(where: { face.contains(.timer($0), in: mode) }) {
                "a timer is firing"
            } else {
                date(face.nextFireDate(in: mode))
            }
        case .timerDate(let timer): date(face.date(ofTimer: timer))
        case .isWaiting: "\(face.isWaiting)"
        }
    }

    private var allModes: String {
        let all = face.allModes
        if all.contains("common") { count(.pseudoModeObject) }
        return all.filter { $0 != "common" }.sorted().joined(separator: ", ")
    }

    private func date(_ date: Int64?) -> String { date.map { "gap \(grid.gap(of: $0))" } ?? "none" }

    var firingTimers: [Int] {
        callouts.compactMap { if case .timer(let index) = $0.item { index } else { nil } }
    }

    func isFiring(_ timer: Int) -> Bool { firingTimers.contains(timer) }
}

extension Action {
    /// Whether the action may make a ready item unready.
    fileprivate var takesAway: Bool {
        switch self {
        case .remove, .invalidate, .move: true
        default: false
        }
    }

    /// The action without its operands, as the statistics count it.
    var name: String {
        switch self {
        case .add(_, let mode): mode == "common" ? "add to common" : "add"
        case .remove(_, let mode): mode == "common" ? "remove from common" : "remove"
        case .invalidate: "invalidate"
        case .addCommonMode: "addCommonMode"
        case .signal: "signal"
        case .makeReady: "makeReady"
        case .wakeUp: "wakeUp"
        case .stop: "stop"
        case .perform(_, let modes):
            modes.count > 1 ? "perform in several modes" : modes == ["common"] ? "perform in common" : "perform"
        case .move(_, let gaps): gaps == nil ? "move to the past" : "move"
        case .run(_, let limit, let returns):
            "run \(limit.name)\(returns ? ", returning after a source" : "")"
        case .busy: "busy"
        case .query: "query"
        }
    }
}

extension RunLimit {
    var name: String {
        switch self {
        case .poll: "for 0 s"
        case .negative: "for -1 s"
        case .gaps: "for some gaps"
        case .forever: "forever"
        }
    }
}
