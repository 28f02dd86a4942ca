// SPDX-License-Identifier: Apache-2.0
// The real CFRunLoop of the current thread, as a script sees it.

// CoreFoundation links only beside Foundation.
import CoreFoundation
import Foundation
import LoopScript

/// The `info` of a source's C callbacks. Each source has its own object, so that sources are unequal.
private final class SourceInfo {
    let index: Int
    let descriptor: Int32
    unowned let face: CFFace

    init(_ index: Int, _ face: CFFace, descriptor: Int32 = -1) {
        self.index = index
        self.face = face
        self.descriptor = descriptor
    }

    static func of(_ info: UnsafeMutableRawPointer?) -> SourceInfo? {
        info.map { Unmanaged<SourceInfo>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The oracle.
class CFFace: LoopFace {
    /// Exported, but in no public header.
    private static let isSignalled = dlsym(nil, "CFRunLoopSourceIsSignalled").map {
        unsafeBitCast($0, to: (@convention(c) (CFRunLoopSource) -> UInt8).self)
    }

    var marksPasses = true
    /// If several descriptors are ready, an epoll's first one depends on earlier reads of the epoll. So a face that is
    /// compared with a loop whose epolls are watched must read them too.
    var looksAtEpolls: Bool { false }

    private var loop: CFRunLoop?
    private var callouts: (any ScriptCallouts)?
    private var infos: [SourceInfo] = []
    private var sources: [CFRunLoopSource] = []
    private var ports: [CFRunLoopSource] = []
    private var descriptors: [EventDescriptor] = []
    private var timers: [CFRunLoopTimer] = []
    private var observers: [CFRunLoopObserver] = []
    private var passObserver: CFRunLoopObserver?
    private var deadlineObserver: CFRunLoopObserver?
    private var lookObserver: CFRunLoopObserver?
    private var modeNames: [ModeName: CFString] = [:]
    private lazy var guards = TimerGuards(face: self)

    func begin(_ program: Program, grid: Grid, callouts: any ScriptCallouts) {
        self.callouts = callouts
        loop = CFRunLoopGetCurrent()
        for (index, spec) in program.sources.enumerated() {
            sources.append(makeSource(index, order: spec.order))
        }
        for index in program.ports.indices { ports.append(makePort(index)) }
        for (index, spec) in program.timers.enumerated() {
            let date = absolute(grid.date(ofTimer: index, gap: spec.firstGap))
            let interval = Double(spec.intervalGaps) * Double(grid.gapLength) / 1e9
            timers.append(
                CFRunLoopTimerCreateWithHandler(nil, date, interval, 0, 0) { [unowned self] _ in
                    fired(index, isOneShot: spec.intervalGaps == 0)
                })
        }
        for (index, spec) in program.observers.enumerated() {
            observers.append(
                CFRunLoopObserverCreateWithHandler(nil, spec.activities, spec.repeats, spec.order) {
                    [unowned self] _, activity in
                    self.callouts?.observed(observer: index, activity: UInt(activity.rawValue))
                })
        }
        passObserver = CFRunLoopObserverCreateWithHandler(nil, 2, true, CFIndex.min) { [unowned self] _, _ in
            if marksPasses { self.callouts?.passBegins() }
            if looksAtEpolls { lookAtEpolls() }
        }
        // A guest loop looks for ready items at the end of the callouts before its sources.
        lookObserver = CFRunLoopObserverCreateWithHandler(nil, 4, true, CFIndex.max) { [unowned self] _, _ in
            lookAtEpolls()
        }
        // The last of our observers that is called before the wait (Rule.wakeUpEaten).
        deadlineObserver = CFRunLoopObserverCreateWithHandler(nil, 32, true, CFIndex.max - 1) { [unowned self] _, _ in
            if self.callouts?.wouldOversleep() ?? false { CFRunLoopWakeUp(loop) }
        }
    }

    private var epolls: (modes: Int, list: [Int32]) = (0, [])

    private func lookAtEpolls() {
        let modes = allModes.count
        if epolls.modes != modes { epolls = (modes, modeEpolls(of: loop)) }
        var requests = epolls.list.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        poll(&requests, nfds_t(requests.count), 0)
    }

    func end() {
        guards.end()
        passObserver = nil
        lookObserver = nil
        deadlineObserver = nil
        callouts = nil
        loop = nil
        sources = []
        ports = []
        timers = []
        observers = []
        for descriptor in descriptors { descriptor.closeDescriptor() }
        infos = []
    }

    private func makeSource(_ index: Int, order: Int) -> CFRunLoopSource {
        let info = SourceInfo(index, self)
        infos.append(info)
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(info).toOpaque()
        context.schedule = { info, _, mode in
            guard let info = SourceInfo.of(info) else { return }
            info.face.callouts?.scheduled(source: info.index, mode: info.face.name(of: mode))
        }
        context.cancel = { info, _, mode in
            guard let info = SourceInfo.of(info) else { return }
            info.face.callouts?.cancelled(source: info.index, mode: info.face.name(of: mode))
        }
        context.perform = { info in
            guard let info = SourceInfo.of(info) else { return }
            info.face.callouts?.performed(source: info.index)
        }
        return CFRunLoopSourceCreate(nil, order, &context)
    }

    private func makePort(_ index: Int) -> CFRunLoopSource {
        let descriptor = EventDescriptor()
        descriptors.append(descriptor)
        let info = SourceInfo(index, self, descriptor: descriptor.descriptor)
        infos.append(info)
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(info).toOpaque()
        context.getPort = { info in SourceInfo.of(info)?.descriptor ?? -1 }
        context.perform = { info in
            guard let info = SourceInfo.of(info) else { return }
            info.face.callouts?.performed(port: info.index)
        }
        return withUnsafeMutablePointer(to: &context) { pointer in
            pointer.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                CFRunLoopSourceCreate(nil, 0, $0)
            }
        }
    }

    private func fired(_ index: Int, isOneShot: Bool) {
        guards.firing(index)
        callouts?.fired(timer: index)
        // CF does this itself right after the callout, when it is too late to remove the guard.
        if isOneShot { CFRunLoopTimerInvalidate(timers[index]) }
        guards.tend()
    }

    // MARK: Items

    func add(_ item: ItemID, to mode: ModeName) {
        switch item {
        case .source(let index): CFRunLoopAddSource(loop, sources[index], cfName(mode))
        case .port(let index): CFRunLoopAddSource(loop, ports[index], cfName(mode))
        case .timer(let index): CFRunLoopAddTimer(loop, timers[index], cfName(mode))
        case .observer(let index): CFRunLoopAddObserver(loop, observers[index], cfName(mode))
        }
        guards.tend()
    }

    func remove(_ item: ItemID, from mode: ModeName) {
        switch item {
        case .source(let index): CFRunLoopRemoveSource(loop, sources[index], cfName(mode))
        case .port(let index): CFRunLoopRemoveSource(loop, ports[index], cfName(mode))
        case .timer(let index): CFRunLoopRemoveTimer(loop, timers[index], cfName(mode))
        case .observer(let index): CFRunLoopRemoveObserver(loop, observers[index], cfName(mode))
        }
        guards.tend()
    }

    func contains(_ item: ItemID, in mode: ModeName) -> Bool {
        switch item {
        case .source(let index): CFRunLoopContainsSource(loop, sources[index], cfName(mode))
        case .port(let index): CFRunLoopContainsSource(loop, ports[index], cfName(mode))
        case .timer(let index): CFRunLoopContainsTimer(loop, timers[index], cfName(mode))
        case .observer(let index): CFRunLoopContainsObserver(loop, observers[index], cfName(mode))
        }
    }

    func invalidate(_ item: ItemID) {
        switch item {
        case .source(let index): CFRunLoopSourceInvalidate(sources[index])
        case .port(let index): CFRunLoopSourceInvalidate(ports[index])
        case .timer(let index): CFRunLoopTimerInvalidate(timers[index])
        case .observer(let index): CFRunLoopObserverInvalidate(observers[index])
        }
        guards.tend()
    }

    func isValid(_ item: ItemID) -> Bool {
        switch item {
        case .source(let index): CFRunLoopSourceIsValid(sources[index])
        case .port(let index): CFRunLoopSourceIsValid(ports[index])
        case .timer(let index): CFRunLoopTimerIsValid(timers[index])
        case .observer(let index): CFRunLoopObserverIsValid(observers[index])
        }
    }

    func addCommonMode(_ mode: ModeName) {
        CFRunLoopAddCommonMode(loop, cfName(mode))
        guards.tend()
    }

    func signal(source: Int) { CFRunLoopSourceSignal(sources[source]) }

    func isSignalled(source: Int) -> Bool { CFFace.isSignalled?(sources[source]) != 0 }

    func makeReady(port: Int) { descriptors[port].makeReady() }

    func setDate(ofTimer timer: Int, to date: UInt64) {
        CFRunLoopTimerSetNextFireDate(timers[timer], absolute(date))
    }

    func date(ofTimer timer: Int) -> Int64? {
        CFRunLoopTimerIsValid(timers[timer]) ? monotonic(CFRunLoopTimerGetNextFireDate(timers[timer])) : nil
    }

    func nextFireDate(in mode: ModeName) -> Int64? {
        let date = CFRunLoopGetNextTimerFireDate(loop, cfName(mode))
        return date == 0 || date > CFAbsoluteTimeGetCurrent() + TimerGuards.nearest ? nil : monotonic(date)
    }

    // MARK: The loop

    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void) {
        if modes.count == 1 {
            CFRunLoopPerformBlock(loop, cfName(modes[0]), body)
            return
        }
        var callbacks = kCFTypeArrayCallBacks
        let names = CFArrayCreateMutable(nil, modes.count, &callbacks)
        for mode in modes { CFArrayAppendValue(names, Unmanaged.passUnretained(cfName(mode)).toOpaque()) }
        CFRunLoopPerformBlock(loop, names, body)
    }

    func run(_ mode: ModeName, _ time: RunTime, returnAfterSourceHandled: Bool) -> RunEnd {
        let seconds: CFTimeInterval =
            switch time {
            case .seconds(let count): CFTimeInterval(count)
            case .until(let date): max(Double(Int64(date) - Int64(Grid.now)) / 1e9, 1e-6)
            case .forever: 1e10
            }
        // An observer keeps no mode alive, but adding it would make a mode that does not exist.
        if mode != "common", allModes.contains(mode) {
            if marksPasses || looksAtEpolls { CFRunLoopAddObserver(loop, passObserver, cfName(mode)) }
            if looksAtEpolls { CFRunLoopAddObserver(loop, lookObserver, cfName(mode)) }
            CFRunLoopAddObserver(loop, deadlineObserver, cfName(mode))
        }
        if looksAtEpolls { lookAtEpolls() }
        let result = CFRunLoopRunInMode(cfName(mode), seconds, returnAfterSourceHandled)
        return RunEnd(rawValue: result.rawValue) ?? .finished
    }

    func wakeUp() { CFRunLoopWakeUp(loop) }

    func stop() { CFRunLoopStop(loop) }

    var isWaiting: Bool { CFRunLoopIsWaiting(loop) }

    var currentMode: ModeName? { CFRunLoopCopyCurrentMode(loop).map { name(of: $0) } }

    var allModes: [ModeName] {
        guard let names = CFRunLoopCopyAllModes(loop) else { return [] }
        return (0..<CFArrayGetCount(names)).compactMap { index in
            CFArrayGetValueAtIndex(names, index).map {
                name(of: Unmanaged<CFString>.fromOpaque($0).takeUnretainedValue())
            }
        }
    }

    // MARK: Names and dates

    func cfName(_ mode: ModeName) -> CFString {
        if mode == "default" { return kCFRunLoopDefaultMode }
        // Item 166: CF knows the pseudo mode by its address.
        if mode == "common" { return kCFRunLoopCommonModes }
        if let name = modeNames[mode] { return name }
        let name: CFString = CFStringCreateWithCString(nil, mode, CFStringBuiltInEncodings.UTF8.rawValue)
        modeNames[mode] = name
        return name
    }

    private func name(of name: CFString?) -> ModeName {
        guard let name else { return "none" }
        var bytes = [CChar](repeating: 0, count: 128)
        guard CFStringGetCString(name, &bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue) else {
            return "unreadable"
        }
        let text = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text == "kCFRunLoopDefaultMode" ? "default" : text == "kCFRunLoopCommonModes" ? "common" : text
    }

    private func absolute(_ date: UInt64) -> CFAbsoluteTime {
        CFAbsoluteTimeGetCurrent() + Double(Int64(date) - Int64(Grid.now)) / 1e9
    }

    private func monotonic(_ date: CFAbsoluteTime) -> Int64 {
        Int64(Grid.now) + Int64((date - CFAbsoluteTimeGetCurrent()) * 1e9)
    }

    // MARK: For the guards

    var timerCount: Int { timers.count }
    func addGuard(_ timer: CFRunLoopTimer, to mode: ModeName) { CFRunLoopAddTimer(loop, timer, cfName(mode)) }
    func removeGuard(_ timer: CFRunLoopTimer, from mode: ModeName) {
        CFRunLoopRemoveTimer(loop, timer, cfName(mode))
    }
}
