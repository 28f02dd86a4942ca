// SPDX-License-Identifier: Apache-2.0
// The item with which a notification queue posts in a mode. The item is in the mode only while notifications wait for
// the mode, and is called once.
//
// If notifications are left after the call, the queue makes a new item for them. A run that is nested in an observer's
// call also finds the new item. No lock is held while items are added to modes and removed. If a thread adds an item
// that another thread has already removed, the item is invalid and does nothing.

import Synchronization

/// The queue whose notifications a turn posts. The methods of this protocol are called without a lock held.
protocol NotificationServer: AnyObject, Sendable {
    /// Posts the notifications of a turn, on the loop's thread.
    func serve(_ turn: NotificationTurn.ID, at activity: GRunLoop.Activity)
    /// Called when the loop's thread has ended, or is ending.
    func end()
}

/// An item of a notification queue in a mode, which posts once.
final class NotificationTurn: Sendable {
    /// The notifications of one style that wait for one mode.
    struct Line: Hashable {
        let mode: GRunLoop.Mode
        let style: GRunLoop.PostingStyle
    }

    struct ID: Sendable {
        let line: Line
        let number: UInt64
    }

    let id: ID
    /// Keeps the mode from being finished, and reports the loop's end to the queue.
    private let presence: GRunLoop.Source
    /// True after the turn was added to its mode. The thread that made the turn may not have added it yet. So while
    /// this flag is false, each thread that enqueues a notification also adds the turn.
    let hasBegun = Atomic(false)
    private let observer: GRunLoop.Observer?
    private let idleQueue: GRunLoop.IdleQueue?

    init(_ id: ID, of server: any NotificationServer) {
        self.id = id
        // An idle queue wakes the loop itself, but an observer does not. The wake-up is needed when the turn is added
        // to its mode, and when the mode becomes common.
        let isIdle = id.line.style == .whenIdle
        let wake: @Sendable (GRunLoop, GRunLoop.Mode) -> Void = { loop, _ in loop.wakeUpEveryRun() }
        presence = GRunLoop.Source(
            schedule: isIdle ? nil : wake,
            cancel: { loop, _ in if loop.isDead { server.end() } }, perform: {})
        if isIdle {
            observer = nil
            idleQueue = GRunLoop.IdleQueue()
            idleQueue?.enqueue { server.serve(id, at: .beforeWaiting) }
        } else {
            idleQueue = nil
            observer = GRunLoop.Observer(activities: [.beforeWaiting, .exit], repeats: false, order: .max) {
                _, activity in server.serve(id, at: activity)
            }
        }
    }

    /// Adds the turn to its mode. A second call adds nothing.
    func begin(on loop: GRunLoop) {
        if let idleQueue { loop.add(idleQueue, forMode: id.line.mode) }
        if let observer { loop.add(observer, forMode: id.line.mode) }
        // The last addition, because it wakes the loop.
        loop.add(presence, forMode: id.line.mode)
        hasBegun.store(true, ordering: .releasing)
    }

    func end() {
        observer?.invalidate()
        idleQueue?.invalidate()
        presence.invalidate()
    }
}
