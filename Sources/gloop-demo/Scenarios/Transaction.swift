// SPDX-License-Identifier: Apache-2.0
// Scenario transaction: callouts collect changes, which are committed once before the loop sleeps.

import GRunLoop

/// Core Animation records each change of a layer, and commits the changes later. An observer of beforeWaiting and exit
/// commits all changes together. The observer's order is 2000000, so it is called after all observers that may make
/// changes (item 269). A pass that only polls has no beforeWaiting, so the changes are committed at the exit of the run
/// (items 33 and 40). If a commit makes another change, that change is not committed before the coming sleep, unless
/// the commit wakes the loop (item 270). A stop before the sleep ends the run immediately (item 61).
enum Transaction {
    static let scenario = Scenario(
        "transaction", "Changes are collected and committed once, when the loop is about to sleep or the run ends.",
        expected: """
            timer         | changes position
            timer         | changes colour
            block         | changes size
            observer      | of order 0 changes opacity
            beforeWaiting | commits position, colour, size, opacity
            run           | returned stopped
            source        | changes shadow
            exit          | commits shadow
            run           | returned handledSource
            timer         | changes frame
            beforeWaiting | commits frame
            commit        | changes border
            afterWaiting  | border has waited until the next timer
            beforeWaiting | commits border
            run           | returned stopped
            timer         | changes frame
            beforeWaiting | commits frame
            commit        | changes border, wakes the loop
            afterWaiting  | border has not waited for the next timer
            beforeWaiting | commits border
            run           | returned stopped
            """, body: run)

    private static let mode: GRunLoop.Mode = "transaction"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let keepAlive = GRunLoop.Source {}
        loop.add(keepAlive, forMode: mode)
        defer { keepAlive.invalidate() }
        commitOnce(loop, log)
        commitAtExit(loop, log)
        changeInCommit(loop, wakes: false, nextTimer: .milliseconds(10), log)
        changeInCommit(loop, wakes: true, nextTimer: .patience, log)
    }

    private static func commitOnce(_ loop: GRunLoop, _ log: Recorder) {
        let layer = Layer(in: loop, mode, log) { _, _ in loop.stop() }
        defer { layer.close() }
        let now = GRunLoop.now
        loop.add(GRunLoop.Timer(fireAt: now) { _ in layer.change("position", "timer") }, forMode: mode)
        let second = GRunLoop.Timer(fireAt: now) { _ in
            layer.change("colour", "timer")
            loop.perform(inModes: [mode]) { layer.change("size", "block") }
        }
        loop.add(second, forMode: mode)
        // The observer `late` is added after the layer's observer, but it is called before the layer's observer,
        // because its order is lower.
        let late = GRunLoop.Observer(activities: .beforeWaiting) { observer, _ in
            guard layer.hasChanges else { return }
            log.line("observer", "of order \(observer.order) changes opacity")
            layer.change("opacity")
            observer.invalidate()
        }
        loop.add(late, forMode: mode)
        log.line("run", "returned \(loop.run(mode: mode, for: .patience))")
    }

    private static func commitAtExit(_ loop: GRunLoop, _ log: Recorder) {
        let layer = Layer(in: loop, mode, log)
        defer { layer.close() }
        let source = GRunLoop.Source { layer.change("shadow", "source") }
        loop.add(source, forMode: mode)
        defer { source.invalidate() }
        source.signal()
        log.line("run", "returned \(loop.run(mode: mode, for: .patience, returningAfterSourceHandled: true))")
    }

    private static func changeInCommit(_ loop: GRunLoop, wakes: Bool, nextTimer: Duration, _ log: Recorder) {
        let layer = Layer(in: loop, mode, log) { layer, changes in
            guard changes == ["frame"] else { return loop.stop() }
            log.line("commit", wakes ? "changes border, wakes the loop" : "changes border")
            layer.change("border")
            if wakes { loop.wakeUp() }
        }
        defer { layer.close() }
        let next = GRunLoop.Timer(interval: nextTimer, repeats: false) { _ in }
        loop.add(next, forMode: mode)
        defer { next.invalidate() }
        let date = next.fireDate
        let observer = GRunLoop.Observer(activities: .afterWaiting) { _, _ in
            guard layer.hasChanges else { return }
            log.line(
                "afterWaiting", "border has \(GRunLoop.now >= date ? "waited until" : "not waited for") the next timer")
        }
        loop.add(observer, forMode: mode)
        defer { observer.invalidate() }
        loop.add(GRunLoop.Timer(fireAt: GRunLoop.now) { _ in layer.change("frame", "timer") }, forMode: mode)
        log.line("run", "returned \(loop.run(mode: mode, for: .patience))")
    }
}

private final class Layer: Sendable {
    private let pending = Shared<[String]>([])
    private let observer = Shared<GRunLoop.Observer?>(nil)
    private let log: Recorder

    /// - Parameter committed: called after a commit with the committed changes.
    init(
        in loop: GRunLoop, _ mode: GRunLoop.Mode, _ log: Recorder,
        committed: @escaping @Sendable (Layer, [String]) -> Void = { _, _ in }
    ) {
        self.log = log
        let observer = GRunLoop.Observer(activities: [.beforeWaiting, .exit], order: 2_000_000) {
            [unowned self] _, activity in
            commit(activity, committed)
        }
        self.observer.value = observer
        loop.add(observer, forMode: mode)
    }

    var hasChanges: Bool { !pending.value.isEmpty }

    /// - Parameter who: the name for a line about the change; nil for no line.
    func change(_ property: String, _ who: String? = nil) {
        if let who { log.line(who, "changes \(property)") }
        pending.update { $0.append(property) }
    }

    func close() {
        observer.value?.invalidate()
    }

    private func commit(_ activity: GRunLoop.Activity, _ committed: (Layer, [String]) -> Void) {
        let changes = pending.update { changes in
            defer { changes = [] }
            return changes
        }
        guard !changes.isEmpty else { return }
        log.line("\(activity)", "commits \(changes.joined(separator: ", "))")
        committed(self, changes)
    }
}
