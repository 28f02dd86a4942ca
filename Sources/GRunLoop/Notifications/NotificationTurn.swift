// SPDX-License-Identifier: Apache-2.0
// How a notification queue is in a mode: only while something waits for that, and by one item that is called once.
//
// Whoever goes on makes another one. So a run that is nested in an observer finds what is left, and no lock is held
// while items come and go: one that is in the loop too late is invalid already, and does nothing.

import Synchronization

/// What has notifications to post. Without a lock held.
protocol NotificationServer: AnyObject, Sendable {
    /// On the loop's thread: posts.
    func serve(_ turn: NotificationTurn.ID, at activity: GRunLoop.Activity)
    /// The loop's thread has ended, or is just ending.
    func end()
}

final class NotificationTurn: Sendable {
    /// Those of one style that wait for a mode.
    struct Line: Hashable {
        let mode: GRunLoop.Mode
        let style: GRunLoop.PostingStyle
    }

    struct ID: Sendable {
        let line: Line
        let number: UInt64
    }

    let id: ID
    /// Keeps the mode from being finished, and tells of the loop's end.
    private let presence: GRunLoop.Source
    /// Until then whoever enqueues begins it: who has made it, on another thread, may not have come to that.
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

    /// The second time it does nothing.
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
