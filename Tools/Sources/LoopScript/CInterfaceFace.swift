// SPDX-License-Identifier: Apache-2.0
// The GRunLoop of the current thread as a script uses it through <grun/grun.h>: it makes only calls that a C program
// can make, except for the seam for choices.

import CGRunHeaders
@_spi(Oracle) import GRunLoop

/// The loop under test, by way of C.
public final class CInterfaceFace: LoopFace {
    public var marksPasses = false
    public var timeSlice: Duration?

    private var loop: OpaquePointer?
    private var passObserver: OpaquePointer?
    private var sources: [OpaquePointer] = []
    private var ports: [ScriptPortC] = []
    private var timers: [OpaquePointer] = []
    private var observers: [OpaquePointer] = []

    public init() {}

    /// The data of an item's functions: the object to report to, and the item.
    private final class Item {
        let callouts: any ScriptCallouts
        let index: Int

        init(_ callouts: any ScriptCallouts, _ index: Int) {
            self.callouts = callouts
            self.index = index
        }

        /// Owned by the loop's item, which releases it by `release`.
        var data: gpointer { Unmanaged.passRetained(self).toOpaque() }

        static func of(_ data: gpointer?) -> Item { reference(data, to: Item.self).takeUnretainedValue() }
        static let release: GDestroyNotify = { reference($0, to: Item.self).release() }
    }

    public func begin(_ program: Program, grid: Grid, callouts: any ScriptCallouts) {
        loop = grun_loop_get_current()
        // A script without long callouts is compared to its end, so a slow machine must not cut it.
        grun_loop_set_time_slice(loop, (timeSlice ?? .seconds(3600)) / .seconds(1))
        for (index, spec) in program.sources.enumerated() {
            sources.append(
                grun_source_new_full(
                    gint(spec.order),
                    { _, _, mode, data in
                        Item.of(data).callouts.scheduled(
                            source: Item.of(data).index, mode: CInterfaceFace.name(of: mode))
                    },
                    { _, _, mode, data in
                        Item.of(data).callouts.cancelled(
                            source: Item.of(data).index, mode: CInterfaceFace.name(of: mode))
                    },
                    { _, data in
                        Item.of(data).callouts.performed(source: Item.of(data).index)
                        return 1
                    }, Item(callouts, index).data, Item.release))
        }
        for index in program.ports.indices {
            ports.append(ScriptPortC(index) { callouts.performed(port: index) })
        }
        for (index, spec) in program.timers.enumerated() {
            let interval = Double(grid.gapLength) * Double(spec.intervalGaps) / 1e9
            timers.append(
                grun_timer_new_at(
                    Self.microseconds(grid.date(ofTimer: index, gap: spec.firstGap)), interval,
                    { _, data in
                        Item.of(data).callouts.fired(timer: Item.of(data).index)
                        return 1
                    }, Item(callouts, index).data, Item.release))
        }
        for (index, spec) in program.observers.enumerated() {
            observers.append(
                grun_observer_new(
                    GRunActivity(rawValue: guint(spec.activities)), spec.repeats ? 1 : 0, gint(spec.order),
                    { _, activity, data in
                        Item.of(data).callouts.observed(
                            observer: Item.of(data).index, activity: UInt(activity.rawValue))
                        return 1
                    }, Item(callouts, index).data, Item.release))
        }
        passObserver = grun_observer_new(
            GRUN_ACTIVITY_BEFORE_TIMERS, 1, .min,
            { _, _, data in
                Item.of(data).callouts.passBegins()
                return 1
            }, Item(callouts, 0).data, Item.release)
        let (script, chosen) = (Lent(value: callouts), Lent(value: ports))
        GRunLoop.current.setItemChooser { ready in
            script.value.choose(among: ready.map { CInterfaceFace.kind(of: $0, chosen.value) })
        }
    }

    public var cutCount: Int { GRunLoop.current.cutCount }

    public func end() {
        loop = nil
        grun_observer_unref(passObserver)
        sources.forEach(grun_source_unref)
        for port in ports { port.release() }
        timers.forEach(grun_timer_unref)
        observers.forEach(grun_observer_unref)
    }

    private static func kind(of item: GRunLoop.ReadyChoice, _ ports: [ScriptPortC]) -> ReadyKind {
        switch item {
        case .wakeUp: .wakeUp
        case .timers: .timers
        case .mainQueue: .other
        case .descriptor, .port: ports.firstIndex { $0.isChosen(by: item) }.map(ReadyKind.port) ?? .other
        }
    }

    // MARK: Items

    public func add(_ item: ItemID, to mode: ModeName) {
        let mode = Self.mode(mode)
        switch item {
        case .source(let index): grun_loop_add_source(loop, sources[index], mode)
        case .port(let index): ports[index].add(to: loop, mode)
        case .timer(let index): grun_loop_add_timer(loop, timers[index], mode)
        case .observer(let index): grun_loop_add_observer(loop, observers[index], mode)
        }
    }

    public func remove(_ item: ItemID, from mode: ModeName) {
        let mode = Self.mode(mode)
        switch item {
        case .source(let index): grun_loop_remove_source(loop, sources[index], mode)
        case .port(let index): ports[index].remove(from: loop, mode)
        case .timer(let index): grun_loop_remove_timer(loop, timers[index], mode)
        case .observer(let index): grun_loop_remove_observer(loop, observers[index], mode)
        }
    }

    public func contains(_ item: ItemID, in mode: ModeName) -> Bool {
        guard loop != nil else { return false }
        let mode = Self.mode(mode)
        return switch item {
        case .source(let index): grun_loop_contains_source(loop, sources[index], mode) != 0
        case .port(let index): ports[index].isIn(loop, mode)
        case .timer(let index): grun_loop_contains_timer(loop, timers[index], mode) != 0
        case .observer(let index): grun_loop_contains_observer(loop, observers[index], mode) != 0
        }
    }

    public func invalidate(_ item: ItemID) {
        switch item {
        case .source(let index): grun_source_invalidate(sources[index])
        case .port(let index): ports[index].invalidate()
        case .timer(let index): grun_timer_invalidate(timers[index])
        case .observer(let index): grun_observer_invalidate(observers[index])
        }
    }

    public func isValid(_ item: ItemID) -> Bool {
        switch item {
        case .source(let index): grun_source_is_valid(sources[index]) != 0
        case .port(let index): ports[index].isValid
        case .timer(let index): grun_timer_is_valid(timers[index]) != 0
        case .observer(let index): grun_observer_is_valid(observers[index]) != 0
        }
    }

    public func addCommonMode(_ mode: ModeName) {
        Self.mustSucceed { grun_loop_add_common_mode(loop, Self.mode(mode), $0) }
    }

    public func signal(source: Int) { grun_source_signal(sources[source]) }

    public func isSignalled(source: Int) -> Bool { grun_source_is_signalled(sources[source]) != 0 }

    public func makeReady(port: Int) { ports[port].makeReady() }

    public func setDate(ofTimer timer: Int, to date: UInt64) {
        grun_timer_set_next_fire_date(timers[timer], Self.microseconds(date))
    }

    public func date(ofTimer timer: Int) -> Int64? { Self.nanoseconds(grun_timer_get_next_fire_date(timers[timer])) }

    public func nextFireDate(in mode: ModeName) -> Int64? {
        Self.nanoseconds(grun_loop_get_next_timer_fire_date(loop, Self.mode(mode)))
    }

    // MARK: The loop

    public func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        final class Block {
            let body: () -> Void
            init(_ body: @escaping () -> Void) { self.body = body }
        }
        // A C array that ends with NULL.
        var names: [UnsafePointer<CChar>?] = modes.map { UnsafePointer(g_strdup(Self.mode($0))) }
        names.append(nil)
        defer { for case let name? in names { g_free(UnsafeMutableRawPointer(mutating: name)) } }
        grun_loop_perform_block_in_modes(
            loop, names, { reference($0, to: Block.self).takeUnretainedValue().body() },
            Unmanaged.passRetained(Block(body)).toOpaque(), { reference($0, to: Block.self).release() })
    }

    public func run(_ mode: ModeName, _ time: RunTime, returnAfterSourceHandled: Bool) -> RunEnd {
        guard loop != nil else { return .finished }
        // An observer keeps no mode alive, but adding it would make a mode that does not exist.
        if marksPasses, mode != "common", allModes.contains(mode) {
            grun_loop_add_observer(loop, passObserver, Self.mode(mode))
        }
        let seconds: Double =
            switch time {
            case .seconds(let count): Double(count)
            case .until(let date): max(Double(Int64(date) - Int64(Grid.now)) / 1e9, 1e-6)
            case .forever: .infinity
            }
        let result = grun_loop_run_in_mode(loop, Self.mode(mode), seconds, returnAfterSourceHandled ? 1 : 0)
        return RunEnd(rawValue: Int32(result.rawValue)) ?? .finished
    }

    public func wakeUp() { grun_loop_wake_up(loop) }

    public func stop() { grun_loop_stop(loop) }

    public var isWaiting: Bool { loop != nil && grun_loop_is_waiting(loop) != 0 }

    public var currentMode: ModeName? {
        guard loop != nil, let name = grun_loop_copy_current_mode(loop) else { return nil }
        defer { g_free(name) }
        return Self.name(of: name)
    }

    public var allModes: [ModeName] {
        guard loop != nil, let names = grun_loop_copy_all_modes(loop) else { return [] }
        defer { g_strfreev(names) }
        var modes: [ModeName] = []
        while let name = names[modes.count] { modes.append(Self.name(of: name)) }
        return modes
    }

    // MARK: Names and dates

    private static func mode(_ name: ModeName) -> String {
        name == "default" ? GRUN_MODE_DEFAULT : name == "common" ? GRUN_MODE_COMMON : name
    }

    private static func name(of mode: UnsafePointer<CChar>?) -> ModeName {
        guard let mode else { fatalError("a mode without a name") }
        let name = String(cString: mode)
        return name == GRUN_MODE_DEFAULT ? "default" : name == GRUN_MODE_COMMON ? "common" : name
    }

    private static func microseconds(_ date: UInt64) -> gint64 { gint64(date / 1000) }

    private static func nanoseconds(_ date: gint64) -> Int64? { date < 0 ? nil : Int64(date) * 1000 }

    /// Makes a call that must not set an error. It returns false without an error if it adds an invalid item.
    static func mustSucceed(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> gboolean) {
        var error: UnsafeMutablePointer<GError>?
        _ = body(&error)
        if let error { fatalError(String(cString: error.pointee.message)) }
    }
}

/// The data of a function is always an object of this file.
private func reference<Object: AnyObject>(_ data: gpointer?, to type: Object.Type) -> Unmanaged<Object> {
    guard let data else { fatalError("a function without its data") }
    return Unmanaged.fromOpaque(data)
}
