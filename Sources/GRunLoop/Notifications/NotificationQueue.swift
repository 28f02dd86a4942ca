// SPDX-License-Identifier: Apache-2.0
// Notifications that are posted later, and only once. What is generic of it is in NotificationCore.

extension GRunLoop {
    /// Posts notifications when the loop has time for them, and of several that are the same only the last.
    ///
    /// Where ten changes in one pass ask for one new layout, each of them enqueues it, and it is done once:
    ///
    /// ```swift
    /// enum Change { case layout }
    ///
    /// let changes = GRunLoop.NotificationQueue<Change, Void>(on: .main)
    /// let laysOut = changes.observe(.layout) { @MainActor _ in print("lays out, once") }
    /// for _ in 0..<10 { changes.enqueue(.init(name: .layout), style: .asap) }
    /// GRunLoop.main.run(for: .milliseconds(10))
    /// laysOut.cancel()
    /// ```
    ///
    /// Whoever ``observe(_:sender:_:)``s the queue is called, on the loop's thread, in the order in which they were
    /// added. A queue has observers of its own: there is no centre that all share.
    ///
    /// In a pass, what is ``PostingStyle/asap`` is posted at ``Activity/beforeWaiting``, behind the observers of a
    /// lower ``Observer/order`` than `.max`, or at ``Activity/exit``, in the order in which it was enqueued. Another
    /// pass follows, which finds what that has changed. What is enqueued meanwhile waits for it; so does the rest once
    /// ``GRunLoop/timeSlice`` is used up. What is ``PostingStyle/whenIdle`` is work of an ``IdleQueue``: one
    /// notification a pass, after everything else. So a notification that enqueues itself again keeps the loop awake,
    /// but keeps nobody from being served. A run that is nested in an observer goes on with what waits.
    ///
    /// While notifications wait for a mode, that is not finished, and they are kept though the program lets go of the
    /// queue. A queue in which none waits has nothing in the loop. When the loop's thread ends, what waits is let go.
    ///
    /// Threads: any, where nothing else is said. The corresponding Foundation type is `NotificationQueue`.
    public final class NotificationQueue<Name: Hashable & Sendable, Payload: Sendable>: Sendable {
        let core: NotificationCore<Name, Payload>

        /// A queue that posts on a loop's thread.
        ///
        /// Threads: any. The corresponding Foundation method is `NotificationQueue.init(notificationCenter:)`, which
        /// takes the current thread's loop.
        public init(on loop: GRunLoop) {
            core = NotificationCore(on: loop)
        }

        /// The loop on whose thread it posts. Threads: any.
        public var loop: GRunLoop { core.loop }

        /// Enqueues a notification, or posts it now. First it takes those that are the same out of the queue, whatever
        /// their style and modes: so the last one counts, and its place is behind the others.
        ///
        /// - Parameters:
        ///   - notification: what to post. It is kept until then.
        ///   - style: when. ``PostingStyle/now`` is for the loop's own thread: on another one it is a misuse, and
        ///     nothing is done.
        ///   - coalescing: what is the same. An empty one: nothing is.
        ///   - names: the modes in which it is posted; ``Mode/common`` is each of the common modes. If a run is under
        ///     way in another mode, what was to be posted now is not posted at all. With an empty list what is to
        ///     come later waits until it is taken out.
        /// - Returns: whether it was posted, or waits. False if it was let go: the mode is another one, the thread is
        ///   another one, or the loop's thread has ended.
        ///
        /// Threads: any; it wakes a loop that sleeps. The corresponding Foundation method is
        /// `enqueue(_:postingStyle:coalesceMask:forModes:)`.
        @discardableResult public func enqueue(
            _ notification: Notification<Name, Payload>, style: PostingStyle,
            coalescing: Coalescing = [.onName, .onSender], inModes names: [Mode] = [.default]
        ) -> Bool {
            guard !core.loop.refuses("NotificationQueue.enqueue") else { return false }
            return style == .now
                ? core.postNow(notification, coalescing, names)
                : core.enqueue(notification, style, coalescing, names)
        }

        /// Takes the notifications that are the same as this one out of the queue: they are not posted. One that is
        /// being posted is not concerned.
        ///
        /// - Parameters:
        ///   - notification: what is to be the same. Its payload plays no part.
        ///   - coalescing: what is the same. An empty one: nothing is.
        /// - Returns: how many there were.
        ///
        /// Threads: any. The corresponding Foundation method is `dequeueNotifications(matching:coalesceMask:)`.
        @discardableResult public func dequeue(
            matching notification: Notification<Name, Payload>, coalescing: Coalescing = [.onName, .onSender]
        ) -> Int {
            guard !Fork.refuses("NotificationQueue.dequeue") else { return 0 }
            return core.dequeue(notification, coalescing)
        }

        /// How many notifications wait to be posted.
        ///
        /// Threads: any. There is no corresponding Foundation property.
        public var count: Int { Fork.refuses("NotificationQueue.count") ? 0 : core.count }
    }
}
