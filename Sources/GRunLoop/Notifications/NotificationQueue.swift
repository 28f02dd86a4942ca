// SPDX-License-Identifier: Apache-2.0
// Notification queues. `NotificationCore` does the work.

extension GRunLoop {
    /// Posts notifications when the loop has time for them. If several waiting notifications are the same, the queue
    /// posts only the newest.
    ///
    /// For example, ten changes in one pass may require a new layout. Each change enqueues a notification, and the
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
    /// ``observe(_:sender:_:)``. Each queue has its own observers; there is no shared centre.
    ///
    /// Notifications with ``PostingStyle/asap`` are posted at ``Activity/beforeWaiting`` or ``Activity/exit``, in the
    /// order in which they were enqueued. Observers of the loop with an ``Observer/order`` below `.max` are called
    /// before the notifications are posted. Another pass follows, in which the loop handles the changes that the
    /// notifications caused. Notifications that are enqueued meanwhile wait for that pass. If ``GRunLoop/timeSlice`` is
    /// used up, the remaining notifications also wait for that pass, except at ``Activity/exit``.
    ///
    /// Notifications with ``PostingStyle/whenIdle`` are posted like the closures of an ``IdleQueue``: one notification
    /// in each pass, after all other work. So an observer that enqueues its notification again keeps the loop awake,
    /// but does not starve other work. If an observer runs the loop, the nested run posts the waiting notifications.
    ///
    /// A mode is not finished while notifications wait for it. Waiting notifications are kept even if the program
    /// releases the queue. A queue without waiting notifications has no item in the loop. When the loop's thread ends,
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

        /// The loop whose thread posts the notifications. Threads: any.
        public var loop: GRunLoop { core.loop }

        /// Enqueues a notification, or posts it now. First, the queue drops waiting notifications that are the same as
        /// the new notification, whatever their style and modes. The new notification waits behind all others.
        ///
        /// - Parameters:
        ///   - notification: the notification to post. The queue retains it until it is posted or removed.
        ///   - style: when to post. Use ``PostingStyle/now`` on the loop's own thread only. On another thread, the call
        ///     does nothing and logs a message.
        ///   - coalescing: which notifications are the same. If the set is empty, no notifications count as the same.
        ///   - names: the modes in which the notification is posted; ``Mode/common`` means each of the common modes.
        ///     With ``PostingStyle/now``, the notification is not posted if the loop is running in another mode. If the
        ///     list is empty, a notification with another style waits until it is removed from the queue.
        /// - Returns: true if the notification was posted or waits to be posted. False if the loop's thread has ended.
        ///   With ``PostingStyle/now``, also false if the loop is running in another mode, or if the calling thread is
        ///   not the loop's own. If the result is false, the notification is released.
        ///
        /// Threads: any; the call wakes a sleeping loop. The corresponding Foundation method is
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

        /// Removes from the queue all notifications that are the same as a given notification. A notification that is
        /// being posted is not affected.
        ///
        /// - Parameters:
        ///   - notification: the notification to compare with. Its payload is ignored.
        ///   - coalescing: which notifications are the same. If the set is empty, no notifications count as the same.
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
