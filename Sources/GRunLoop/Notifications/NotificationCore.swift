// SPDX-License-Identifier: Apache-2.0
// The implementation of notification queues.
//
// No user code runs under the lock. Comparing or hashing a name is user code, so a name is hashed before the lock is
// taken. The hash finds the waiting notifications that may be the same as a given notification. Their names are
// compared without the lock. If other threads enqueue notifications meanwhile, the comparison is repeated for the new
// notifications.

import CGRun

/// The state of a notification queue: the waiting notifications and the observers. The ``GRunLoop/NotificationQueue``
/// retains this object, and so does each ``NotificationTurn`` that is in a mode.
final class NotificationCore<Name: Hashable & Sendable, Payload: Sendable>: @unchecked Sendable {
    typealias Notification = GRunLoop.Notification<Name, Payload>

    private typealias Observers = NotificationObservers<Name, Payload>

    let loop: GRunLoop
    private let lock = Lock.take()
    // Guarded by the lock.
    private var waiting: [UInt64: Notification] = [:]
    private var lines = NotificationLines()
    private var observers = Observers()
    private var isEnded = false

    init(on loop: GRunLoop) {
        self.loop = loop
    }

    deinit {
        Lock.giveBack(lock)
    }

    var count: Int { lock.withLock { waiting.count } }

    // MARK: Waiting notifications. Any thread

    func enqueue(
        _ notification: Notification, _ style: GRunLoop.PostingStyle, _ coalescing: GRunLoop.Coalescing,
        _ names: [GRunLoop.Mode]
    ) -> Bool {
        let key = NotificationKey(hash: notification.name.hashValue, sender: notification.senderAddress)
        lock.lock()
        let taken = takeSameLocked(notification, key, coalescing)
        let isAccepted = !isEnded
        if isAccepted { waiting[lines.add(key, style, names, of: self)] = notification }
        unlock(andCarryOut: lines.takeChanges())
        // The notifications are released after unlocking, because the deinits of names, senders and payloads are user
        // code.
        withExtendedLifetime(taken) {}
        return isAccepted && !loop.isDead
    }

    func dequeue(_ notification: Notification, _ coalescing: GRunLoop.Coalescing) -> Int {
        let hash = coalescing.contains(.onName) ? notification.name.hashValue : 0
        let key = NotificationKey(hash: hash, sender: notification.senderAddress)
        lock.lock()
        let taken = takeSameLocked(notification, key, coalescing)
        unlock(andCarryOut: lines.takeChanges())
        return withExtendedLifetime(taken) { taken.same.count }
    }

    /// The notifications that were taken out of the queue, and the notifications that were compared. All of them are
    /// released after unlocking.
    private struct Taken {
        var same: [Notification] = []
        var seen: [Notification] = []
    }

    /// Takes all notifications that are the same as `notification` out of the queue. Call this function with the lock
    /// held. The function releases the lock while it compares names.
    private func takeSameLocked(
        _ notification: Notification, _ key: NotificationKey, _ coalescing: GRunLoop.Coalescing
    ) -> Taken {
        var taken = Taken()
        var same: [UInt64] = []
        var last: UInt64 = 0
        while true {
            let found = lines.alike(key, coalescing, after: last)
            guard !found.isEmpty else { break }
            last = lines.last
            // If names do not matter, all found notifications are the same, because their senders have the same
            // address.
            guard coalescing.contains(.onName) else {
                same = found
                break
            }
            let candidates = found.compactMap { number in waiting[number].map { (number, $0) } }
            lock.unlock()
            for (number, candidate) in candidates where candidate.name == notification.name { same.append(number) }
            // This is a closure instead of the key path `\.1`. Swift's runtime would create the key path of a generic
            // type at each use, in 25,000 instructions.
            taken.seen += candidates.map { $0.1 }
            lock.lock()
        }
        // Other threads may have taken some of these notifications meanwhile.
        taken.same = same.compactMap(takeLocked)
        return taken
    }

    private func takeLocked(_ number: UInt64) -> Notification? {
        lines.remove(number)
        return waiting.removeValue(forKey: number)
    }

    private func unlock(andCarryOut changes: NotificationLines.Changes) {
        lock.unlock()
        // New turns begin before old turns end. Otherwise the mode could be finished in between.
        for turn in changes.begun { turn.begin(on: loop) }
        for turn in changes.ended { turn.end() }
        // If the loop's thread ended before the new turns were added, no turn reports the end. So the queue is ended
        // here.
        if loop.isDead { end() }
    }

    // MARK: Observers. Any thread

    /// Adds an observer. Returns its number, which is not 0.
    func addObserver(
        _ name: Name?, _ sender: (any AnyObject & Sendable)?, _ senderAddress: UInt,
        _ body: @escaping @Sendable (Notification) -> Void
    ) -> UInt64 {
        let content = Observers.Content(name: name, body: body, sender: sender)
        let hash = name?.hashValue
        return lock.withLock { observers.add(content, nameHash: hash, sender: senderAddress) }
    }

    func removeObserver(_ number: UInt64) -> Bool {
        // The observer's content is released after unlocking, because its deinit may be user code.
        let removed = lock.withLock { observers.remove(number) }
        return removed != nil
    }

    // MARK: Posting. The loop's thread

    func postNow(
        _ notification: Notification, _ coalescing: GRunLoop.Coalescing, _ names: [GRunLoop.Mode]
    ) -> Bool {
        guard loop.isCurrent else {
            Log.misuse(
                "NotificationQueue.enqueue",
                "ignored: the style .now works only on the loop's own thread; use .asap on other threads")
            return false
        }
        _ = dequeue(notification, coalescing)
        if let mode = loop.currentMode, modesServed(in: mode).isDisjoint(with: names) { return false }
        post(notification)
        return true
    }

    /// The modes whose notifications a run in `mode` posts.
    private func modesServed(in mode: GRunLoop.Mode) -> Set<GRunLoop.Mode> {
        loop.lock.withLock { loop.commonModes.contains(mode) } ? [mode, .common] : [mode]
    }

    private func post(_ notification: Notification) {
        let hash = notification.name.hashValue
        let found = lock.withLock { observers.candidates(nameHash: hash, sender: notification.senderAddress) }
        for observer in found {
            // Each observer is checked right before its call, because an observer that was called before may have
            // cancelled it.
            guard let content = lock.withLock({ observer.content }) else { continue }
            // The observer may want another name with the same hash.
            guard content.name.map({ $0 == notification.name }) ?? true else { continue }
            callOutToNotificationObserver { content.body(notification) }
        }
    }
}

extension NotificationCore: NotificationServer {
    func serve(_ turn: NotificationTurn.ID, at activity: GRunLoop.Activity) {
        let modes = modesServed(in: loop.currentMode ?? turn.line.mode)
        let start = loop.time
        let slice = loop.lock.withLock { loop.sliceLength }
        // Only notifications up to the number `last` are posted. Notifications that are enqueued from now on wait for
        // another pass.
        guard let last = lock.withLock({ lines.begin(turn, modes) ? lines.last : nil }) else { return }
        while let notification = takeNext(turn.line.style, modes, upTo: last) {
            post(notification)
            // Each pass posts only one notification of the style `.whenIdle`.
            if turn.line.style == .whenIdle { return }
            // At the end of a run, all notifications are posted, because no other pass follows.
            if activity != .exit, loop.time - start >= slice { break }
        }
        // Makes the loop begin another pass, which handles the changes that the observers have made. If no notification
        // is left, that pass may find the mode finished.
        loop.wakeUp()
    }

    private func takeNext(
        _ style: GRunLoop.PostingStyle, _ modes: Set<GRunLoop.Mode>, upTo last: UInt64
    ) -> Notification? {
        lock.lock()
        let notification = lines.first(style, modes, upTo: last).flatMap(takeLocked)
        // The remaining notifications get a new turn now, so that a run that is nested in an observer's call finds the
        // new turn.
        for mode in modes { lines.ensureTurn(of: NotificationTurn.Line(mode: mode, style: style), of: self) }
        unlock(andCarryOut: lines.takeChanges())
        return notification
    }

    func end() {
        lock.lock()
        isEnded = true
        let (released, turns) = (waiting, lines.turns)
        (waiting, lines) = ([:], NotificationLines())
        lock.unlock()
        for turn in turns { turn.end() }
        withExtendedLifetime(released) {}
    }
}

@inline(never) private func callOutToNotificationObserver(_ body: () -> Void) {
    body()
    cgrun_keep_frame()
}
