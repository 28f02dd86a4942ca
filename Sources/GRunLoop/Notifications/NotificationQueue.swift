// SPDX-License-Identifier: Apache-2.0
// Notification queues, which post notifications later, and equal ones only once. NotificationCore does the work.

extension GRunLoop {
    /// Posts notifications when the loop has time for them. If several notifications are the same, it posts only
    /// the last.
    ///
    /// For example, ten changes in one pass may ask for a new layout. Each change enqueues a notification, and the
    /// layout is done once:
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
    /// The queue calls its observers on the loop's thread, in the order in which they were added with
    /// ``observe(_:sender:_:)``. Each queue has its own observers: there is no centre that all queues share.
    ///
    /// Notifications with ``PostingStyle/asap`` are posted in the order in which they were enqueued, at
    /// ``Activity/beforeWaiting`` or ``Activity/exit``. Observers of the loop with an ``Observer/order`` below `.max`
    /// come before them. Another pass follows, in which the loop handles what the notifications have changed.
    /// Notifications that are enqueued meanwhile wait for that pass. So do the remaining ones once
    /// ``GRunLoop/timeSlice`` is used up, but not at ``Activity/exit``.
    ///
    /// Notifications with ``PostingStyle/whenIdle`` are posted as the work of an ``IdleQueue``: one in each pass, after
    /// everything else. So a notification that enqueues itself again keeps the loop awake, but does not starve other
    /// work. If an observer runs the loop, the nested run goes on with the waiting notifications.
    ///
    /// A mode is not finished while notifications wait for it. Waiting notifications are kept even if the program
    /// releases the queue. A queue without waiting notifications has nothing in the loop. When the loop's thread ends,
    /// the waiting notifications are released.
    ///
    /// Threads: any, unless stated otherwise. The corresponding Foundation type is `NotificationQueue`.
    public final class NotificationQueue<Name: Hashable & Sendable, Payload: Sendable>: Sendable {
        let core: NotificationCore<Name, Payload>

        /// Creates a queue that posts on a loop's thread.
        ///
        /// Threads: any. The corresponding Foundation method is `NotificationQueue.init(notificationCenter:)`, which
        /// takes the current thread's loop.
        public init(on loop: GRunLoop) {
            core = NotificationCore(on: loop)
        }

        /// The loop on whose thread the queue posts. Threads: any.
        public var loop: GRunLoop { core.loop }

        /// Enqueues a notification, or posts it now. First it removes notifications that are the same from the queue,
        /// whatever their style and modes. So the last notification counts, and its place is behind the others.
        ///
        /// - Parameters:
        ///   - notification: the notification to post. It is kept until then.
        ///   - style: when to post. ``PostingStyle/now`` is for the loop's own thread. On another thread it is a
        ///     misuse: nothing is done, and a message is logged.
        ///   - coalescing: which notifications are the same. With an empty set, none is.
        ///   - names: the modes in which the notification is posted; ``Mode/common`` means each of the common modes.
        ///     With ``PostingStyle/now``, the notification is not posted if a run is under way in another mode. With an
        ///     empty list, a notification for later waits until it is removed from the queue.
        /// - Returns: true if the notification was posted, or waits. False if it was released: because the run's mode
        ///   is another one, because the thread is another one, or because the loop's thread has ended.
        ///
        /// Threads: any; it wakes a sleeping loop. The corresponding Foundation method is
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

        /// Removes the notifications that are the same as a given one from the queue, so that they are not posted. A
        /// notification that is being posted is not affected.
        ///
        /// - Parameters:
        ///   - notification: the notification to compare with. Its payload is ignored.
        ///   - coalescing: which notifications are the same. With an empty set, none is.
        /// - Returns: how many notifications were removed.
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
