// SPDX-License-Identifier: Apache-2.0
// What a notification queue posts, when, and what counts as the same.

extension GRunLoop {
    /// What has happened, by name; to whom, if that matters; and what there is to say of it.
    ///
    /// ```swift
    /// enum Change { case layout, selection }
    /// let change = GRunLoop.Notification(name: Change.layout, sender: view, payload: view.size)
    /// ```
    ///
    /// The corresponding Foundation type is `Notification`.
    public struct Notification<Name: Hashable & Sendable, Payload: Sendable>: Sendable {
        /// What has happened. An enumeration of the program's, a string, any value that compares.
        public let name: Name
        /// To whom: an object, kept as long as the notification. Senders are the same if they are one object. Nil is no
        /// sender, and the same as another nil.
        public let sender: (any AnyObject & Sendable)?
        /// What there is to say of it. Payloads are not compared.
        public let payload: Payload

        /// The address of the sender; 0 if there is none.
        let senderAddress: UInt

        /// A notification, to be enqueued in a ``NotificationQueue``.
        ///
        /// Threads: any. The corresponding Foundation method is `Notification.init(name:object:userInfo:)`.
        public init(name: Name, sender: (any AnyObject & Sendable)? = nil, payload: Payload) {
            self.name = name
            self.sender = sender
            self.payload = payload
            senderAddress = address(of: sender)
        }

        /// A notification of which there is nothing more to say.
        ///
        /// Threads: any. Otherwise it is ``init(name:sender:payload:)``.
        public init(name: Name, sender: (any AnyObject & Sendable)? = nil) where Payload == Void {
            self.init(name: name, sender: sender, payload: ())
        }

        /// For a sender that is not kept.
        init(name: Name, senderAddress: UInt, payload: Payload) {
            self.name = name
            sender = nil
            self.payload = payload
            self.senderAddress = senderAddress
        }
    }

    /// When a ``NotificationQueue`` posts.
    ///
    /// The corresponding Foundation type is `NotificationQueue.PostingStyle`.
    public enum PostingStyle: Hashable, Sendable {
        /// At once, before the call returns. On the loop's own thread only.
        case now
        /// When the loop is about to sleep, or its run ends: whatever is ready before that has its turn first.
        case asap
        /// When the loop has nothing else to do at all, one notification a pass.
        case whenIdle
    }

    /// Which notifications that wait are the same as another one, so that one is enough.
    ///
    /// The corresponding Foundation type is `NotificationQueue.NotificationCoalescing`.
    public struct Coalescing: OptionSet, Hashable, Sendable {
        /// The choice as bits, which are Foundation's.
        public let rawValue: UInt

        /// The choice that those bits stand for. Bits that stand for none are kept, and mean nothing.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Those of the same name. `NSNotificationCoalescingOnName`.
        public static let onName = Coalescing(rawValue: 1 << 0)
        /// Those of the same sender, or of none if it has none. `NSNotificationCoalescingOnSender`.
        public static let onSender = Coalescing(rawValue: 1 << 1)
    }
}

/// 0 if there is no object.
func address(of object: AnyObject?) -> UInt {
    object.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0
}
