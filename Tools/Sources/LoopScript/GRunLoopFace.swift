// SPDX-License-Identifier: Apache-2.0
// The GRunLoop of the current thread, as a script sees it.

@_spi(Oracle) import GRunLoop

/// The loop under test.
public final class GRunLoopFace: LoopFace {
    public var marksPasses = false
    public var timeSlice: Duration?

    /// Whether a host drives instead of the outermost runs.
    private let isHosted: Bool
    private var runs = 0
    private var loop: GRunLoop?
    private var passObserver: GRunLoop.Observer?
    private var sources: [GRunLoop.Source] = []
    private var ports: [ScriptPort] = []
    private var timers: [GRunLoop.Timer] = []
    private var observers: [GRunLoop.Observer] = []

    public init(isHosted: Bool = false) {
        self.isHosted = isHosted
    }

    public func begin(_ program: Program, grid: Grid, callouts: any ScriptCallouts) {
        let loop = GRunLoop.current
        self.loop = loop
        // A script without long callouts is compared to its end, so a slow machine must not cut it.
        loop.timeSlice = timeSlice ?? .seconds(3600)
        // The closures of items must be usable on any thread. A script's closures run on its own thread only.
        let script = Lent(value: callouts)
        for (index, spec) in program.sources.enumerated() {
            sources.append(
                GRunLoop.Source(
                    order: spec.order,
                    schedule: { script.value.scheduled(source: index, mode: GRunLoopFace.name(of: $1)) },
                    cancel: { script.value.cancelled(source: index, mode: GRunLoopFace.name(of: $1)) },
                    perform: { script.value.performed(source: index) }))
        }
        for index in program.ports.indices {
            ports.append(ScriptPort(index) { script.value.performed(port: index) })
        }
        for (index, spec) in program.timers.enumerated() {
            let length = Duration.nanoseconds(Int64(grid.gapLength)) * spec.intervalGaps
            timers.append(
                GRunLoop.Timer(
                    fireAt: GRunLoopFace.instant(grid.date(ofTimer: index, gap: spec.firstGap)), interval: length
                ) { _ in script.value.fired(timer: index) })
        }
        for (index, spec) in program.observers.enumerated() {
            observers.append(
                GRunLoop.Observer(
                    activities: GRunLoop.Activity(rawValue: spec.activities), repeats: spec.repeats, order: spec.order
                ) { script.value.observed(observer: index, activity: $1.rawValue) })
        }
        passObserver = GRunLoop.Observer(activities: .beforeTimers, order: .min) { _, _ in
            script.value.passBegins()
        }
        let chosen = Lent(value: ports)
        loop.setItemChooser { ready in
            script.value.choose(among: ready.map { GRunLoopFace.kind(of: $0, chosen.value) })
        }
    }

    public var cutCount: Int { loop?.cutCount ?? 0 }

    public func end() {
        loop = nil
        passObserver = nil
        sources = []
        for port in ports { port.end() }
        ports = []
        timers = []
        observers = []
    }

    private static func kind(of item: GRunLoop.ReadyChoice, _ ports: [ScriptPort]) -> ReadyKind {
        switch item {
        case .wakeUp: .wakeUp
        case .timers: .timers
        case .mainQueue: .other
        case .descriptor, .port: ports.firstIndex { $0.isChosen(by: item) }.map(ReadyKind.port) ?? .other
        }
    }

    // MARK: Items

    public func add(_ item: ItemID, to mode: ModeName) {
        let mode = GRunLoopFace.mode(mode)
        switch item {
        case .source(let index): loop?.add(sources[index], forMode: mode)
        case .port(let index): if let loop { ports[index].add(to: loop, mode) }
        case .timer(let index): loop?.add(timers[index], forMode: mode)
        case .observer(let index): loop?.add(observers[index], forMode: mode)
        }
    }

    public func remove(_ item: ItemID, from mode: ModeName) {
        let mode = GRunLoopFace.mode(mode)
        switch item {
        case .source(let index): loop?.remove(sources[index], forMode: mode)
        case .port(let index): if let loop { ports[index].remove(from: loop, mode) }
        case .timer(let index): loop?.remove(timers[index], forMode: mode)
        case .observer(let index): loop?.remove(observers[index], forMode: mode)
        }
    }

    public func contains(_ item: ItemID, in mode: ModeName) -> Bool {
        guard let loop else { return false }
        let mode = GRunLoopFace.mode(mode)
        return switch item {
        case .source(let index): loop.contains(sources[index], forMode: mode)
        case .port(let index): ports[index].isIn(loop, mode)
        case .timer(let index): loop.contains(timers[index], forMode: mode)
        case .observer(let index): loop.contains(observers[index], forMode: mode)
        }
    }

    public func invalidate(_ item: ItemID) {
        switch item {
        case .source(let index): sources[index].invalidate()
        case .port(let index): ports[index].invalidate()
        case .timer(let index): timers[index].invalidate()
        case .observer(let index): observers[index].invalidate()
        }
    }

    public func isValid(_ item: ItemID) -> Bool {
        switch item {
        case .source(let index): sources[index].isValid
        case .port(let index): ports[index].isValid
        case .timer(let index): timers[index].isValid
        case .observer(let index): observers[index].isValid
        }
    }

    public func addCommonMode(_ mode: ModeName) {
        do { try loop?.addCommonMode(GRunLoopFace.mode(mode)) } catch { fatalError("\(error)") }
    }

    public func signal(source: Int) { sources[source].signal() }

    public func isSignalled(source: Int) -> Bool { sources[source].isSignalled }

    public func makeReady(port: Int) { ports[port].makeReady() }

    public func setDate(ofTimer timer: Int, to date: UInt64) {
        timers[timer].fireDate = GRunLoopFace.instant(date)
    }

    public func date(ofTimer timer: Int) -> Int64? {
        timers[timer].isValid ? GRunLoopFace.monotonic(timers[timer].fireDate) : nil
    }

    public func nextFireDate(in mode: ModeName) -> Int64? {
        loop?.nextFireDate(forMode: GRunLoopFace.mode(mode)).map(GRunLoopFace.monotonic)
    }

    // MARK: The loop

    public func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        let body = Lent(value: body)
        loop?.perform(inModes: modes.map(GRunLoopFace.mode)) { body.value() }
    }

    public func run(_ mode: ModeName, _ time: RunTime, returnAfterSourceHandled: Bool) -> RunEnd {
        guard let loop else { return .finished }
        let limit: Duration? =
            switch time {
            case .seconds(let count): .seconds(count)
            case .until(let date): max(.nanoseconds(Int64(date) - Int64(Grid.now)), .microseconds(1))
            case .forever: nil
            }
        // An observer keeps no mode alive, but adding it would make a mode that does not exist.
        if marksPasses, mode != "common", let passObserver, allModes.contains(mode) {
            loop.add(passObserver, forMode: GRunLoopFace.mode(mode))
        }
        runs += 1
        defer { runs -= 1 }
        if isHosted, runs == 1, case .until(let date) = time {
            ScriptHost.run(loop, in: GRunLoopFace.mode(mode), until: date) { [unowned self] in runs == 1 }
            return .timedOut
        }
        let result = loop.run(
            mode: GRunLoopFace.mode(mode), for: limit, returningAfterSourceHandled: returnAfterSourceHandled)
        return RunEnd(rawValue: result.rawValue) ?? .finished
    }

    public func wakeUp() { loop?.wakeUp() }

    public func stop() { loop?.stop() }

    public var isWaiting: Bool { loop?.isWaiting ?? false }

    public var currentMode: ModeName? { loop?.currentMode.map(GRunLoopFace.name) }

    public var allModes: [ModeName] { loop?.allModes.map(GRunLoopFace.name) ?? [] }

    // MARK: Names and dates

    private static func mode(_ name: ModeName) -> GRunLoop.Mode {
        name == "default" ? .default : name == "common" ? .common : GRunLoop.Mode(name)
    }

    private static func name(of mode: GRunLoop.Mode) -> ModeName {
        mode == .default ? "default" : mode == .common ? "common" : mode.rawValue
    }

    private static let epoch = SuspendingClock().systemEpoch

    private static func instant(_ date: UInt64) -> GRunLoop.Instant {
        epoch.advanced(by: .nanoseconds(Int64(date)))
    }

    private static func monotonic(_ instant: GRunLoop.Instant) -> Int64 {
        let (seconds, attoseconds) = epoch.duration(to: instant).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
