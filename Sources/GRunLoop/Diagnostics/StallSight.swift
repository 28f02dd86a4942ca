// SPDX-License-Identifier: Apache-2.0
// What a stall watcher reads of a loop, from another thread.

import CGRun

/// What a loop does at one moment.
enum LoopActivity: Equatable {
    /// The loop sleeps, or no one runs it.
    case waits
    /// A callout is under way or about to begin. If two looks find the same values, the callout has not returned in
    /// between. A callout that begins changes the count, a sleep the mark, and a nested run that ends the frame.
    case isBusy(count: UInt32, mark: Nanoseconds, frame: UInt)
    /// The loop's thread has ended.
    case hasEnded

    /// Stands for the frame while another thread keeps the loop's lock, so that only the count is known. No frame has
    /// this address.
    static let unknownFrame = UInt.max
}

/// The callout that a loop is in, with its mode and its driver. Reading it allocates no memory, because the stalled
/// thread may hold the allocator's lock.
struct StallSight {
    let callout: GRunLoop.StallReport.Callout
    let mode: GRunLoop.Mode?
    let driver: GRunLoop.StallReport.Driver
    /// How many GLib dispatches may be on the stack. If there are more, a foreign loop runs inside the callout.
    let deepest: Int
    /// The home context, whose iterations count as beats.
    let home: OpaquePointer?

    /// Whether a callback of the host has stalled. A foreign loop may have called it inside a callout of ours. `depth`
    /// is the number of GLib dispatches on the stack, or 0 if it is not known.
    func isHosts(depth: Int) -> Bool { callout == .host || depth > deepest }

    /// What is seen of a loop while another thread keeps its lock.
    static var unknown: Self { Self(callout: .unknown, mode: nil, driver: .loop, deepest: .max, home: nil) }
}

/// The details of a stalled callout, read with the loop's lock held. Reading them allocates no memory, because the
/// stalled thread may hold the allocator's lock. This thread would then wait with the loop's lock, and other threads
/// would wait for it. In a debug build each iteration over a collection allocates memory; only a timer and an idle
/// queue are looked up without an iteration.
struct StallDetails {
    var label: Labels.Label?
    /// Whether the item may have a label that could not be read, because another thread kept the lock of the labels.
    var isLabelUnknown = false
    /// Nil if the callout has no item, or if the mode no longer contains it.
    var item: ItemDetail?
    /// How many runs are on the stack.
    var depth = 0
}

/// The answer of the stalled thread: its stack, and what GLib dispatches there.
struct StallSample {
    let stack: Stack
    /// The name of the GSource that GLib dispatches; nil if GLib dispatches none that has a name.
    let source: String?
    /// How many GLib dispatches are on the thread's stack.
    let depth: Int

    init(_ sample: cgrun_sample) {
        var sample = sample
        let frames = withUnsafeBytes(of: &sample.frames) { Array($0.bindMemory(to: UInt.self)) }
        stack = Stack(Array(frames.prefix(Int(sample.frame_count))))
        let name = withUnsafeBytes(of: &sample.source) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        source = name.isEmpty ? nil : name
        depth = Int(sample.depth)
    }
}

extension GRunLoop {
    /// What the loop does now. Call it with the lock held.
    var activityLocked: LoopActivity {
        if isDead { return .hasEnded }
        let count = cgrun_beat_count(beat)
        let frame = innermost.map { UInt(bitPattern: $0.toOpaque()) } ?? 0
        if sleep.isUnderWay {
            // Under a host, the sleep begins in the hub's prepare function. GLib may then dispatch another source
            // without checking the hub, so the loop is busy although the sleep has not ended.
            guard isHostInControl, beatSource != nil, !cgrun_beat_host_polls(beat) else { return .waits }
            return .isBusy(count: count, mark: 0, frame: frame)
        }
        if frame == 0, beatSource == nil || cgrun_beat_host_polls(beat) { return .waits }
        return .isBusy(count: count, mark: frame == 0 ? 0 : sleep.mark(), frame: frame)
    }

    /// The callout that the loop is in. Call it with the lock held, while the loop is busy.
    var stallSightLocked: StallSight {
        guard let frame else {
            return StallSight(callout: .host, mode: nil, driver: .host, deepest: .max, home: home?.context)
        }
        let mark = CalloutMark(bits: frame.callout.load(ordering: .relaxed))
        return StallSight(
            callout: .init(mark), mode: frame.mode.name, driver: frame.run.isHosted ? .host : .loop,
            deepest: frame.depth + (mark.kind == .context ? 1 : 0), home: home?.context)
    }

    /// The details of the callout that the loop is in. Call it with the lock held, while the loop is busy.
    var stallDetailsLocked: StallDetails {
        guard let frame else { return StallDetails() }
        var details = StallDetails(depth: runCountLocked)
        let mark = CalloutMark(bits: frame.callout.load(ordering: .relaxed))
        guard let item = itemLocked(mark, in: frame) else { return details }
        switch Labels.withoutAllocation(of: item) {
        case .label(let label): details.label = label
        case .none: break
        case .unknown: details.isLabelUnknown = true
        }
        details.item =
            switch mark.kind {
            case .idleWork: .words("an idle queue")
            case .port: .words("a port")
            default: CalloutMark.detail(of: item)
            }
        return details
    }

    /// Looks up the item of a callout in its mode, because the item may have been released already. The caller drops
    /// the item before it unlocks. Otherwise this thread could release the last reference.
    private func itemLocked(_ mark: CalloutMark, in frame: Frame) -> AnyObject? {
        let mode = frame.mode
        func isIt(_ item: AnyObject) -> Bool { CalloutMark.address(of: item) == mark.item }
        // The frame may know the next item already, while a closure of the marked one is still being released. This
        // function is not generic: in a debug build, the first call of a generic function takes memory for metadata.
        func marked(_ item: AnyObject?) -> AnyObject? {
            if let item, isIt(item) { item } else { nil }
        }
        return switch mark.kind {
        case nil, .wakeUp, .block, .mainQueue, .context: nil
        case .idleWork: marked(frame.called.idleQueue?.takeUnretainedValue())
        case .source: mode.sources.values.first { isIt($0.source) }?.source
        case .timer: marked(frame.called.timer?.takeUnretainedValue())
        case .descriptor: mode.descriptors.first(where: isIt)
        case .port: mode.ports.first(where: isIt)
        case .observer: mode.observers.first(where: isIt)
        }
    }
}

extension GRunLoop.StallReport.Callout {
    init(_ mark: CalloutMark) {
        switch mark.kind {
        case nil, .wakeUp: self = .unknown
        case .block: self = .block
        case .source: self = .source
        case .timer: self = .timer
        case .descriptor: self = .descriptor
        case .mainQueue: self = .mainQueue
        case .context: self = .context
        case .idleWork: self = .idleWork
        case .port: self = .port
        case .observer:
            // Not `map`: in a debug build, the first call of a generic function takes memory for metadata.
            if let activity = mark.activity { self = .observer(activity) } else { self = .unknown }
        }
    }
}
