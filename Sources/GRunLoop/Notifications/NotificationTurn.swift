// SPDX-License-Identifier: Apache-2.0
// An item by which a notification queue posts in a mode. It is in the mode only while notifications wait for the mode,
// and is called once.
//
// For the remaining notifications, the queue makes a new item, which a run that is nested in an observer also finds. No
// lock is held while items are added and removed. An item that is added too late is invalid already, and does nothing.

import Synchronization

/// The queue that a turn posts for. Its methods are called without a lock held.
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
    /// True once the turn is in its mode. The thread that made the turn may not have added it yet, so until then each
    /// thread that enqueues adds it.
    let hasBegun = Atomic(false)
    private let observer: GRunLoop.Observer?
    private let idleQueue: GRunLoop.IdleQueue?

    init(_ id: ID, of server: any NotificationServer) {
        self.id = id
        presence = GRunLoop.Source(cancel: { loop, _ in if loop.isDead { server.end() } }, perform: {})
        if id.line.style == .whenIdle {
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
        loop.add(presence, forMode: id.line.mode)
        if let idleQueue { loop.add(idleQueue, forMode: id.line.mode) }
        if let observer {
            loop.add(observer, forMode: id.line.mode)
            loop.wakeUpEveryRun()
        }
        hasBegun.store(true, ordering: .releasing)
    }

    func end() {
        observer?.invalidate()
        idleQueue?.invalidate()
        presence.invalidate()
    }
}
