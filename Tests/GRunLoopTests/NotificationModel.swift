// SPDX-License-Identifier: Apache-2.0
// A model of the documented rules of notification queues. While a random program uses the real queues, the model
// records each queue's observers and waiting notifications.

import GRunLoop

/// Only one thread uses the model.
final class NotificationModel: @unchecked Sendable {
    typealias Queue = GRunLoop.NotificationQueue<Int, Payload>
    typealias Notification = GRunLoop.Notification<Int, Payload>

    /// A payload with a number. The model counts the payloads that exist.
    final class Payload: Sendable {
        let number: Int
        private let gone: @Sendable (Int) -> Void

        init(_ number: Int, gone: @escaping @Sendable (Int) -> Void) {
            self.number = number
            self.gone = gone
        }

        deinit { gone(number) }
    }

    /// The sender of notifications.
    final class Sender: Sendable {
        let number: Int

        init(_ number: Int) { self.number = number }
    }

    struct Entry {
        let number: Int
        let name: Int
        let sender: Int?
        let style: GRunLoop.PostingStyle
        let modes: [GRunLoop.Mode]
        /// The event in which it was enqueued.
        let event: Int
        /// Events in which it must not be posted, because its queue was posting already.
        let barred: [Int]
    }

    struct Filter {
        let number: Int
        let name: Int?
        let sender: Int?
        var isCancelled = false
    }

    /// A posting in progress: its observers are being called.
    struct Posting {
        let number: Int
        let name: Int
        let sender: Int?
        /// The observers that were registered when the posting began, in order.
        var toCall: [Int]
        /// The number of observer closures that are being called around the posting.
        let depth: Int
    }

    final class Account: @unchecked Sendable {
        /// The waiting entries, in the order of enqueueing.
        var waiting: [Entry] = []
        var filters: [Filter] = []
        var postings: [Posting] = []
        /// The notifications that are being posted now.
        var now: [Int] = []
        /// The modes that each event serves, from the event's first posting on.
        var serves: [Int: [GRunLoop.Mode]] = [:]
        var bodies = 0
    }

    /// A run or a host.
    struct Frame {
        var activity: GRunLoop.Activity = .entry
        /// Counts the sentinels' calls, with one number for each activity of each pass.
        var event = 0
        /// True if the observer of the second highest order was called in this event.
        var isLate = false
        var idleCalls = 0
        var isWoken = false
        /// The number of notifications that waited for the run's mode at its exit; nil if there was no exit.
        var waitingAtExit: Int?
        var clock: GRunLoop.Instant?
        /// The modes served when the run was about to sleep. Modes that become common later wake nobody (item 75).
        var served: [GRunLoop.Mode] = []
    }

    let loop: GRunLoop
    let hasVirtualTime: Bool
    var accounts: [Account] = []
    var frames: [Frame] = []
    var common: [GRunLoop.Mode] = [.default, "shared"]
    var problems: [String] = []
    var posted = 0
    private var lastEvent = 0

    init(_ loop: GRunLoop, hasVirtualTime: Bool) {
        self.loop = loop
        self.hasVirtualTime = hasVirtualTime
    }

    func expect(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { problems.append(problem()) }
    }

    // MARK: Events

    func served(in mode: GRunLoop.Mode) -> [GRunLoop.Mode] { common.contains(mode) ? [mode, .common] : [mode] }

    func waiting(_ style: GRunLoop.PostingStyle, for modes: [GRunLoop.Mode]) -> [Entry] {
        accounts.flatMap(\.waiting).filter { $0.style == style && !$0.modes.allSatisfy { !modes.contains($0) } }
    }

    /// Called by the observer of the lowest order in a mode.
    func begin(_ activity: GRunLoop.Activity) {
        guard !frames.isEmpty, let mode = loop.currentMode else { return expect(false, "\(activity) outside of a run") }
        lastEvent += 1
        // Where a host drives, a nested run ends the host's sleep.
        let isHosts = activity == .afterWaiting && frames.count > 1 && frames[frames.count - 1].event == 0
        let index = frames.count - (isHosts ? 2 : 1)
        var frame = frames[index]
        defer { frames[index] = frame }
        let before = frame.activity
        (frame.activity, frame.event, frame.isLate) = (activity, lastEvent, false)
        let modes = served(in: mode)
        switch activity {
        case .beforeTimers: (frame.idleCalls, frame.isWoken) = (0, false)
        case .beforeWaiting:
            (frame.idleCalls, frame.isWoken, frame.clock, frame.served) = (0, false, loop.clock.now, modes)
        case .afterWaiting where hasVirtualTime && before == .beforeWaiting && frame.clock != loop.clock.now:
            let left = (waiting(.asap, for: frame.served) + waiting(.whenIdle, for: frame.served)).map(\.number)
            expect(left.isEmpty, "slept over \(left)")
        case .exit: frame.waitingAtExit = (waiting(.asap, for: modes) + waiting(.whenIdle, for: modes)).count
        default: break
        }
    }

    func beginLate() {
        if !frames.isEmpty { frames[frames.count - 1].isLate = true }
    }

    /// Notes new work that keeps the loop awake, for one of the modes; nil means any mode.
    func wake(_ modes: [GRunLoop.Mode]? = nil) {
        guard !frames.isEmpty, let mode = loop.currentMode else { return }
        if modes?.contains(where: served(in: mode).contains) ?? true { frames[frames.count - 1].isWoken = true }
    }

    func makeCommon(_ mode: GRunLoop.Mode) {
        if !common.contains(mode) { common.append(mode) }
    }

    // MARK: Waiting entries

    /// Returns true if a waiting entry equals a notification of this name and sender.
    static func same(_ entry: Entry, _ name: Int, _ sender: Int?, _ coalescing: GRunLoop.Coalescing) -> Bool {
        !coalescing.isDisjoint(with: [.onName, .onSender]) && (!coalescing.contains(.onName) || entry.name == name)
            && (!coalescing.contains(.onSender) || entry.sender == sender)
    }

    func takeSame(_ account: Account, _ name: Int, _ sender: Int?, _ coalescing: GRunLoop.Coalescing) -> Int {
        let before = account.waiting.count
        account.waiting.removeAll { Self.same($0, name, sender, coalescing) }
        return before - account.waiting.count
    }

    func enqueue(
        _ account: Account, _ number: Int, _ name: Int, _ sender: Int?, _ style: GRunLoop.PostingStyle,
        _ coalescing: GRunLoop.Coalescing, _ modes: [GRunLoop.Mode]
    ) {
        _ = takeSame(account, name, sender, coalescing)
        guard style != .now else { return }
        let barred = frames.map(\.event).filter { account.serves[$0] != nil }
        account.waiting.append(
            Entry(
                number: number, name: name, sender: sender, style: style, modes: modes, event: frames.last?.event ?? 0,
                barred: barred))
    }

    // MARK: Postings

    /// Called by the first observer of a queue, which observes everything.
    func post(_ account: Account, _ notification: Notification) {
        posted += 1
        let number = notification.payload.number
        while let last = account.postings.last, last.depth >= account.bodies { end(account, last) }
        if account.now.last == number {
            account.now[account.now.count - 1] = -1
        } else {
            check(account, number)
        }
        let sender = (notification.sender as? Sender)?.number
        let wanted = account.filters.filter { filter in
            !filter.isCancelled && (filter.name.map { $0 == notification.name } ?? true)
                && (filter.sender.map { $0 == sender } ?? true)
        }
        account.postings.append(
            Posting(
                number: number, name: notification.name, sender: sender, toCall: wanted.map(\.number),
                depth: account.bodies))
    }

    private func check(_ account: Account, _ number: Int) {
        guard let index = account.waiting.firstIndex(where: { $0.number == number }) else {
            return expect(false, "\(number) does not wait, and is posted")
        }
        let entry = account.waiting.remove(at: index)
        guard let mode = loop.currentMode, let frame = frames.last else {
            return expect(false, "\(number) is posted outside of a run")
        }
        let modes = entry.style == .asap ? account.serves[frame.event] ?? served(in: mode) : served(in: mode)
        expect(modes.contains(where: entry.modes.contains), "\(number), for \(entry.modes), is posted in \(mode)")
        let earlier = account.waiting[..<index].first {
            $0.style == entry.style && $0.modes.contains(where: modes.contains)
        }
        expect(earlier == nil, "\(number) is posted before \(earlier?.number ?? 0)")
        switch entry.style {
        case .now: expect(false, "\(number) was for now")
        case .asap:
            account.serves[frame.event] = modes
            expect([.beforeWaiting, .exit].contains(frame.activity), "\(number), asap, is posted at \(frame.activity)")
            expect(frame.isLate, "\(number) is posted before observers of a lower order")
            expect(
                !entry.barred.contains(frame.event), "\(number) came while others were posted, and is posted at once")
        case .whenIdle:
            expect(frame.activity == .beforeWaiting, "\(number), idle, is posted at \(frame.activity)")
            expect(frame.idleCalls == 0, "\(number) is the second of its pass")
            expect(!frame.isWoken, "\(number) is posted though the loop is awake")
            frames[frames.count - 1].idleCalls += 1
            let asap = waiting(.asap, for: frame.served).map(\.number)
            expect(asap.isEmpty, "\(number), idle, is posted before \(asap), asap")
        }
    }

    /// Called by any other observer.
    func call(_ account: Account, _ filter: Int, _ notification: Notification) {
        while let last = account.postings.last, last.depth > account.bodies { end(account, last) }
        guard var posting = account.postings.popLast(), posting.number == notification.payload.number else {
            return expect(false, "\(filter) is called with \(notification.payload.number) out of turn")
        }
        while let next = posting.toCall.first, next != filter {
            expect(account.filters[next].isCancelled, "\(next) is not called with \(posting.number)")
            posting.toCall.removeFirst()
        }
        expect(posting.toCall.first == filter, "\(filter) is called with \(posting.number), and should not")
        expect(!account.filters[filter].isCancelled, "\(filter) is called with \(posting.number), and is cancelled")
        if !posting.toCall.isEmpty { posting.toCall.removeFirst() }
        account.postings.append(posting)
    }

    /// Ends a posting after all its observers were called.
    func end(_ account: Account, _ posting: Posting) {
        account.postings.removeAll { $0.number == posting.number }
        let missed = posting.toCall.filter { !account.filters[$0].isCancelled }
        expect(missed.isEmpty, "\(missed) were not called with \(posting.number)")
    }

    func endPostings(from depths: [Int]) {
        for (account, depth) in zip(accounts, depths) {
            while let last = account.postings.last, last.depth >= depth { end(account, last) }
        }
    }

    // MARK: Runs

    func run(_ mode: GRunLoop.Mode, _ body: () -> GRunLoop.RunResult) {
        let before = (waiting(.asap, for: served(in: mode)) + waiting(.whenIdle, for: served(in: mode))).count
        let depths = accounts.map(\.bodies)
        frames.append(Frame())
        let result = body()
        endPostings(from: depths)
        let frame = frames.removeLast()
        // The nested run may have slept.
        if !frames.isEmpty { frames[frames.count - 1].clock = loop.clock.now }
        guard frame.event != 0 else {
            return expect(result != .finished || before == 0, "\(mode) is finished, with \(before) that wait")
        }
        expect(frame.activity == .exit, "the run ends in \(frame.activity)")
        expect(result != .finished || frame.waitingAtExit == 0, "finished, with \(frame.waitingAtExit ?? -1) that wait")
        let left = waiting(.asap, for: served(in: mode)).filter { $0.event < frame.event }
        expect(left.isEmpty || common.count != 2, "\(left.map(\.number)) wait still, after a run in \(mode)")
    }
}
