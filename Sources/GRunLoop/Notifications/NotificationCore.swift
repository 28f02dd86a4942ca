// SPDX-License-Identifier: Apache-2.0
// A notification queue: the waiting notifications, the observers, and posting, with no user code under the lock.
//
// Comparing or hashing a name runs the program's code. So a name is hashed before the lock is taken. Notifications that
// may be the same are found by the hash, and compared without the lock. If further notifications have come meanwhile,
// they are compared as well. This repeats until the lock is held and no new notification has come.

import CGRun

/// The state of a notification queue. The program's ``GRunLoop/NotificationQueue`` holds it, and so does each turn that
/// waits in a mode.
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
        // Released after the lock, because the deinits of names, senders and payloads are user code.
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

    /// The notifications that were taken out of the queue, and those that were only compared. Both are released after
    /// the lock.
    private struct Taken {
        var same: [Notification] = []
        var seen: [Notification] = []
    }

    /// Takes the notifications that are the same out of the queue. The lock is held before and after, but not in
    /// between.
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
            // Only the address decides whether senders are the same, so there is nothing to compare.
            guard coalescing.contains(.onName) else {
                same = found
                break
            }
            let candidates = found.compactMap { number in waiting[number].map { (number, $0) } }
            lock.unlock()
            for (number, candidate) in candidates where candidate.name == notification.name { same.append(number) }
            // Not `\.1`: the runtime makes the key path of a generic type again at each use, which takes 25,000
            // instructions.
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
        // New turns begin before others end. Otherwise the mode could be finished in between.
        for turn in changes.begun { turn.begin(on: loop) }
        for turn in changes.ended { turn.end() }
        // The loop's thread may have ended before it had the new turns. Then no turn reports the end to this queue.
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

    /// Removes an observer. Returns false if it was removed before.
    func removeObserver(_ number: UInt64) -> Bool {
        // The observer's content is released after unlocking, because its deinit is the program's code.
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
                "ignored: what is posted now is posted on the loop's own thread, and this is another one; use .asap")
            return false
        }
        _ = dequeue(notification, coalescing)
        if let mode = loop.currentMode, modesServed(in: mode).isDisjoint(with: names) { return false }
        post(notification)
        return true
    }

    /// The modes whose notifications are posted by a run in `mode`.
    private func modesServed(in mode: GRunLoop.Mode) -> Set<GRunLoop.Mode> {
        loop.lock.withLock { loop.commonModes.contains(mode) } ? [mode, .common] : [mode]
    }

    private func post(_ notification: Notification) {
        let hash = notification.name.hashValue
        let found = lock.withLock { observers.candidates(nameHash: hash, sender: notification.senderAddress) }
        for observer in found {
            // Each observer is checked when its turn comes, because it may be cancelled by then.
            guard let content = lock.withLock({ observer.content }) else { continue }
            // Another name may have the same hash.
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
        // Notifications that are enqueued meanwhile wait for another pass.
        guard let last = lock.withLock({ lines.begin(turn, modes) ? lines.last : nil }) else { return }
        while let notification = takeNext(turn.line.style, modes, upTo: last) {
            post(notification)
            // Idle notifications are posted one in each pass.
            if turn.line.style == .whenIdle { return }
            // At the end of a run, all are posted, because the run has no other pass.
            if activity != .exit, loop.time - start >= slice { break }
        }
        // The next pass handles what the observers have changed. With no notification left, it may find the mode
        // finished.
        loop.wakeUp()
    }

    private func takeNext(
        _ style: GRunLoop.PostingStyle, _ modes: Set<GRunLoop.Mode>, upTo last: UInt64
    ) -> Notification? {
        lock.lock()
        let notification = lines.first(style, modes, upTo: last).flatMap(takeLocked)
        // The notifications that are left get another turn: in a run that is nested in an observer, or in the next
        // pass.
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
