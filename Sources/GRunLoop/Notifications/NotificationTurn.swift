// SPDX-License-Identifier: Apache-2.0
// How a notification queue is in a mode: only while notifications wait for the mode, and by one item that is called
// once.
//
// To go on, the queue makes another turn with another item. So a run that is nested in an observer finds the
// notifications that are left. No lock is held while items are added and removed: an item that is added too late is
// invalid already, and does nothing.

import Synchronization

/// Posts the notifications of a turn. Called without a lock held.
protocol NotificationServer: AnyObject, Sendable {
    /// Called on the loop's thread when the turn comes: posts.
    func serve(_ turn: NotificationTurn.ID, at activity: GRunLoop.Activity)
    /// Called when the loop's thread has ended, or is ending.
    func end()
}

/// A turn of a notification queue in a mode, which posts once.
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
    /// True once the turn is in its mode. Until then, each thread that enqueues begins the turn, because the thread
    /// that made it may not have done so yet.
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
