// SPDX-License-Identifier: Apache-2.0
// The drivers and the ways in which they drive.

import CGRunGLib
import GRunLoop
import TestSupport

enum Form: String, CaseIterable {
    case run, zero, oneSource, date, limit, nested, host, nestedHost, insideHost

    var name: String {
        switch self {
        case .run: "a run"
        case .zero: "runs for zero"
        case .oneSource: "a source at a time"
        case .date: "until a date"
        case .limit: "runs of 2 ms"
        case .nested: "a nested run"
        case .host: "a host"
        case .nestedHost: "a nested host"
        case .insideHost: "a run in a host's callback"
        }
    }

    var explanation: String {
        switch self {
        case .run: "`run(for:)` until it is stopped"
        case .zero: "`run(for: .zero)`, again and again"
        case .oneSource: "`run(for:returningAfterSourceHandled: true)`, again and again"
        case .date: "Foundation's `run(until:)`, 3 ms ahead, again and again"
        case .limit: "`run(for: .milliseconds(2))`, again and again"
        case .nested: "a run in a callout of another run: of a timer, a source, a block or a descriptor"
        case .host: "`g_main_loop_run()`"
        case .nestedHost: "`g_main_loop_run()` in the callout of a source, in a run or under a host"
        case .insideHost: "a run in a callback of an idle source, under `g_main_loop_run()`"
        }
    }

    /// Whether GLib asks the hub for its turn.
    var isHosted: Bool { self == .host || self == .nestedHost }

    /// Whether each run is new and has its own slice.
    var isOfShortRuns: Bool { self == .zero || self == .oneSource || self == .date || self == .limit }
}

/// Drives the main loop until the ledger is done. Returns a complaint if no player was called although all were ready.
///
/// - Parameter variant: chooses how a run nests.
func drive(_ cell: Cell, _ ledger: Ledger, variant: Int) -> String? {
    let driver = Driver(ledger)
    switch cell.form {
    case .run: driver.runs { $0.run(for: driver.patience) }
    case .zero: driver.runs { $0.run(for: .zero) }
    case .oneSource: driver.runs { $0.run(for: driver.patience, returningAfterSourceHandled: true) }
    case .date: driver.runs { $0.run(until: GRunLoop.now.advanced(by: .milliseconds(3))) }
    case .limit: driver.runs { $0.run(for: .milliseconds(2)) }
    case .nested: driver.nest(variant) { driver.runs { $0.run(for: driver.patience) } }
    case .host: driver.host()
    case .nestedHost: driver.nestHost(isHosted: variant.isMultiple(of: 2) && !cell.kinds.contains(.glibHigh))
    case .insideHost: driver.runInsideHost()
    }
    return driver.complaint
}

private final class Driver: @unchecked Sendable {
    private let ledger: Ledger
    private let loop = GRunLoop.main
    /// Longer than any sleep, because something is always ready.
    let patience = Duration.seconds(5)
    private(set) var complaint: String?

    init(_ ledger: Ledger) {
        self.ledger = ledger
    }

    /// Makes runs until the ledger is done. Some runs may call nothing: each has one turn, which may be that of a
    /// wake-up.
    func runs<Result>(_ body: (GRunLoop) -> Result) {
        ledger.isWaiting = false
        ledger.stop = { [loop] in loop.stop() }
        var idle = 0
        var calls = ledger.calls
        while !ledger.isDone {
            _ = body(loop)
            idle = calls == ledger.calls ? idle + 1 : 0
            calls = ledger.calls
            if idle == 8 {
                complaint = "no player was called in 8 runs"
                return ledger.finish()
            }
        }
    }

    /// Calls `body` in a callout of a run.
    func nest(_ variant: Int, _ body: @escaping @Sendable () -> Void) {
        let nested: @Sendable () -> Void = { [self, loop] in
            body()
            // Stops the outer run as well.
            loop.stop()
            isNestedOver = true
        }
        // The item is the only one of its kind, so its callout comes soon beside any other ready items.
        switch variant % 4 {
        case 0: loop.add(GRunLoop.Timer(interval: .nanoseconds(1), repeats: false) { _ in nested() }, forMode: .default)
        case 1: loop.async(nested)
        case 2:
            let source = once(nested)
            source.signal()
            loop.wakeUp()
        default:
            let ready = EventDescriptor()
            ready.makeReady()
            try? loop.add(
                GRunLoop.DescriptorSource(descriptor: ready.descriptor) { source, _ in
                    source.invalidate()
                    withExtendedLifetime(ready) {}
                    nested()
                }, forMode: .default)
        }
        ledger.isWaiting = true
        while !isNestedOver {
            if loop.run(for: patience) == .timedOut, !isNestedOver {
                complaint = "the nesting callout was not called"
                return ledger.finish()
            }
        }
    }

    private var isNestedOver = false

    private func once(_ body: @escaping @Sendable () -> Void) -> GRunLoop.Source {
        let own = Shared<GRunLoop.Source?>(nil)
        let source = loop.source {
            own.value?.invalidate()
            own.value = nil
            body()
        }
        own.value = source
        return source
    }

    /// Runs a GLib loop. A timeout ends it if no player is called.
    func host() {
        let main = MainLoop()
        ledger.stop = { main.quit() }
        let calls = Shared(ledger.calls)
        let guardian = GLibSource.timeout(nil, milliseconds: 5000, priority: -1000) { [self] in
            if calls.value == ledger.calls {
                complaint = "no player was called for 5 s"
                ledger.finish()
            }
            calls.value = ledger.calls
            return true
        }
        main.run()
        guardian.destroy()
    }

    /// - Parameter isHosted: whether a host drives the outer loop too. Beside `glibHigh` nothing would nest a host.
    func nestHost(isHosted: Bool) {
        let nested: @Sendable () -> Void = { [self, loop] in
            ledger.isWaiting = false
            host()
            isNestedOver = true
            loop.stop()
        }
        ledger.isWaiting = true
        let source = once(nested)
        source.signal()
        loop.wakeUp()
        if isHosted {
            while !isNestedOver { g_main_context_iteration(nil, 1) }
        } else {
            while !isNestedOver { loop.run(for: patience) }
        }
    }

    func runInsideHost() {
        let main = MainLoop()
        ledger.isWaiting = true
        let idle = GLibSource.idle(nil, priority: -200) { [self] in
            runs { $0.run(for: patience) }
            main.quit()
            return false
        }
        main.run()
        idle.destroy()
    }
}

/// A GLib main loop on the default context.
private final class MainLoop: @unchecked Sendable {
    private let loop = g_main_loop_new(nil, 0)

    deinit { g_main_loop_unref(loop) }

    func run() { g_main_loop_run(loop) }
    func quit() { g_main_loop_quit(loop) }
}
