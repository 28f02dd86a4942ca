// SPDX-License-Identifier: Apache-2.0
// Notifications, their posting styles, and how they are coalesced.

extension GRunLoop {
    /// A named event for a ``NotificationQueue``, with the object that the event concerns and a payload.
    ///
    /// ```swift
    /// enum Change { case layout, selection }
    /// let change = GRunLoop.Notification(name: Change.layout, sender: view, payload: view.size)
    /// ```
    ///
    /// The corresponding Foundation type is `Notification`.
    public struct Notification<Name: Hashable & Sendable, Payload: Sendable>: Sendable {
        /// The name of the event: a case of an enumeration of the program, a string, or any other hashable value.
        public let name: Name
        /// The object that the event concerns; nil if there is none. The notification retains this object. Two senders
        /// are the same if they are one object, or if both are nil.
        public let sender: (any AnyObject & Sendable)?
        /// Further data about the event. Payloads are not compared.
        public let payload: Payload

        /// The address of the sender; 0 if there is no sender.
        let senderAddress: UInt

        /// Creates a notification for a ``NotificationQueue``.
        ///
        /// Threads: any. The corresponding Foundation method is `Notification.init(name:object:userInfo:)`.
        public init(name: Name, sender: (any AnyObject & Sendable)? = nil, payload: Payload) {
            self.name = name
            self.sender = sender
            self.payload = payload
            senderAddress = address(of: sender)
        }

        /// Creates a notification without a payload.
        ///
        /// Threads: any. Otherwise it works like ``init(name:sender:payload:)``.
        public init(name: Name, sender: (any AnyObject & Sendable)? = nil) where Payload == Void {
            self.init(name: name, sender: sender, payload: ())
        }

        /// Creates a notification that has only the address of its sender, and does not retain the sender.
        init(name: Name, senderAddress: UInt, payload: Payload) {
            self.name = name
            sender = nil
            self.payload = payload
            self.senderAddress = senderAddress
        }
    }

    /// The time at which a ``NotificationQueue`` posts a notification.
    ///
    /// The corresponding Foundation type is `NotificationQueue.PostingStyle`.
    public enum PostingStyle: Hashable, Sendable {
        /// Posts immediately, before the call returns. Use this style only on the loop's own thread.
        case now
        /// Posts when the loop is about to sleep, or when its run ends. Other ready work comes first.
        case asap
        /// Posts when the loop has no other work. Each pass posts only one such notification.
        case whenIdle
    }

    /// Decides which waiting notifications count as the same, so that only one of them is posted.
    ///
    /// The corresponding Foundation type is `NotificationQueue.NotificationCoalescing`.
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The options as bits, which are the same as Foundation's.
        public let rawValue: UInt

        /// Creates the options from their bits. Unknown bits are kept, and have no effect.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Notifications with the same name count as the same. The corresponding Foundation option is
        /// `NSNotificationCoalescingOnName`.
        public static let onName = Coalescing(rawValue: 1 << 0)
        /// Notifications with the same sender count as the same, and so do all notifications without a sender. The
        /// corresponding Foundation option is `NSNotificationCoalescingOnSender`.
        public static let onSender = Coalescing(rawValue: 1 << 1)
    }
}

/// The address of an object; 0 for nil.
func address(of object: AnyObject?) -> UInt {
    object.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0
}
