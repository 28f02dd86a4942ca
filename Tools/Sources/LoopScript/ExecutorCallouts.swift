// SPDX-License-Identifier: Apache-2.0
// What the executor does when the loop calls it.

extension Executor: ScriptCallouts {
    public func scheduled(source: Int, mode: ModeName) { notes.append("schedule S\(source) in \(mode)") }

    public func cancelled(source: Int, mode: ModeName) { notes.append("cancel S\(source) in \(mode)") }

    public func performed(source: Int) {
        collectSources(first: source)
        callout(.source(source), "source S\(source)")
    }

    public func performed(port: Int) {
        writtenPorts.remove(port)
        callout(.port(port), "port P\(port)", kind: .port(port))
    }

    public func fired(timer: Int) {
        movedWhileFiring.remove(timer)
        callout(.timer(timer), "timer T\(timer)", kind: .timer)
        movedWhileFiring.remove(timer)
    }

    public func observed(observer: Int, activity: UInt) {
        if activity == 128, !activations.isEmpty { activations[activations.count - 1].deadline = nil }
        callout(
            .observer(observer), "observer O\(observer) \(ActivityNames.text(activity))",
            kind: activity == 64 ? .afterWaiting : .other, activity: activity)
    }

    func performed(block: Int) {
        let call = blockCalls[block, default: 0]
        blockCalls[block] = call + 1
        callout(nil, "block B\(block)", actions: actions(of: program.blocks[block], call))
    }

    public func choose(among ready: [ReadyKind]) -> Int? {
        statistics.count("choices among \(ready.count) ready items")
        guard let reference = options.reference, agreesWithReference else { return nil }
        let wake = ready.firstIndex(of: .wakeUp)
        var passes = passesSinceLine
        var takes = false
        for next in reference[referencePosition...] {
            if next.kind == .taking { takes = true }
            guard next.callouts <= callouts.count else { continue }
            // If the oracle's pass left no line, it consumed a wake-up, or serviced an item that was removed.
            let silent = takes && !options.silentPassesWake ? ready.firstIndex { $0 != .wakeUp } : wake
            guard next.callouts == callouts.count, next.depth == activations.count else { return silent }
            switch next.kind {
            case .pass:
                guard passes > 0 || !options.marksPasses else { return silent }
                passes -= 1
                takes = false
            // Actions between the oracle's wait and its service stage come before the serviced item.
            case .afterWaiting:
                guard passes == 0 || !options.marksPasses else { return wake }
            case .timer: return ready.firstIndex(of: .timers) ?? wake
            case .port(let port): return ready.firstIndex(of: .port(port)) ?? wake
            case .taking, .cut, .other: return silent
            }
        }
        return wake
    }

    private func callout(
        _ item: ItemID?, _ text: String, kind: TraceLine.Kind = .other, activity: UInt = 0,
        actions given: [Action]? = nil
    ) {
        guard !isEnding, !isExhausted else {
            if isExhausted, !isEnding { face.stop() }
            return
        }
        if case .source? = item {} else { sourcesAreThrough() }
        record("\(text) \(when)", kind: kind)
        statistics.count("callout " + (item.map { String("\($0)".prefix(1)) } ?? "B"))
        callouts.append(CalloutFrame(item: item, activity: activity, depth: activations.count))
        if let given {
            for action in given { perform(action) }
        } else if let item {
            let call = calls[item, default: 0]
            calls[item] = call + 1
            for action in actions(of: body(of: item), call) { perform(action) }
        }
        callouts.removeLast()
    }

    private func actions(of body: Body, _ call: Int) -> [Action] { call < body.count ? body[call] : [] }

    private func body(of item: ItemID) -> Body {
        switch item {
        case .source(let index): program.sources[index].body
        case .port(let index): program.ports[index].body
        case .timer(let index): program.timers[index].body
        case .observer(let index): program.observers[index].body
        }
    }
}
