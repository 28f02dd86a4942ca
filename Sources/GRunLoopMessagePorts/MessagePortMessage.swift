// SPDX-License-Identifier: Apache-2.0
// The messages that a message port receives, and the replies to them.

public import GRunLoop
import Synchronization

extension GRunLoop.MessagePort {
    /// A message from another process, or from this process.
    ///
    /// Threads: any. Core Foundation passes the parts of a message to the `CFMessagePortCallBack`.
    public struct Message: Sendable {
        /// A number that identifies the kind of message. Both sides agree on these numbers. Threads: any.
        public let id: Int32
        /// The bytes of the message; empty if none were sent. The handler may keep them. Threads: any.
        public let data: GRunLoop.MessageData
        /// The object that replies to the sender; nil if the sender wants no reply. Threads: any.
        public let reply: Reply?
        private let descriptors: ReceivedDescriptors?

        init(_ packet: IncomingPacket, _ data: GRunLoop.MessageData, _ reply: Reply?) {
            id = packet.id
            self.data = data
            descriptors = packet.descriptors
            self.reply = reply
        }

        /// The number of descriptors that came with the message and were not taken yet. Threads: any.
        public var descriptorCount: Int { descriptors?.count ?? 0 }

        /// Takes the descriptors that came with the message, in the order in which they were sent. The descriptors are
        /// close-on-exec.
        ///
        /// The caller owns the descriptors and closes them. A second call returns an empty array. Descriptors that the
        /// program does not take are closed when the message is released.
        ///
        /// Threads: any. The corresponding GLib function is `g_unix_fd_message_steal_fds`.
        public func takeDescriptors() -> [Int32] { descriptors?.take() ?? [] }
    }

    /// Sends the reply to a message whose sender wants a reply. Send only one reply, immediately or later, from any
    /// thread.
    ///
    /// If this object is released without a reply, the sender gets ``GRunLoop/MessageRequestError/unanswered``.
    ///
    /// Threads: any. In Core Foundation the `CFMessagePortCallBack` returns the reply.
    public final class Reply: Sendable {
        private let connection: MessageConnection
        private let id: Int32
        private let conversation: UInt32
        private let isSent = Atomic(false)

        init(to packet: IncomingPacket, by connection: MessageConnection) {
            self.connection = connection
            id = packet.id
            conversation = packet.conversation
        }

        deinit { decline() }

        /// Tells the sender that there is no reply, unless a reply was sent.
        private func decline() {
            guard !Fork.isChild, !isSent.exchange(true, ordering: .relaxed),
                let packet = try? OutgoingPacket(.unanswered, id: id, conversation: conversation, [], [])
            else { return }
            _ = connection.reply(packet)
        }

        /// Sends the reply. If a reply was already sent or queued, logs the mistake and sends nothing.
        ///
        /// - Parameters:
        ///   - data: up to 1,610,612,736 bytes. Empty data is a valid reply.
        ///   - descriptors: up to 16. The receiver gets copies, and the caller keeps its descriptors.
        ///
        /// A reply waits in the port's queue while the client's queue is full, and while memory or descriptors are
        /// short. Replies of more than 65,536 bytes also wait if more than 16 MiB of them would be in transit to the
        /// client's process. If 256 MiB are in transit to all processes together, each process can have only one such
        /// reply in transit.
        ///
        /// The port closes the client's connection if more than 1,024 replies, 64 MiB or 64 descriptors would wait for
        /// the client's process. At the limit of 256 MiB, the port also closes the connection if a second reply would
        /// wait for this process. A reply counts as 16 MiB at most.
        ///
        /// - Returns: true if the reply was sent or queued. False if the client has gone or does not receive its
        ///   replies, or if the port is invalid. Also false if an earlier reply was sent or queued.
        /// - Throws: ``GRunLoop/MessageRequestError/transportError(errno:)``, also if the reply must wait and no
        ///   descriptor is left to copy its descriptors. After this error you can send another reply.
        ///
        /// Threads: any; the call does not wait. There is no corresponding Core Foundation function.
        @discardableResult public func send(
            _ data: GRunLoop.MessageData = [], descriptors: [Int32] = []
        ) throws(GRunLoop.MessageRequestError) -> Bool {
            guard !Fork.refuses("MessagePort.Reply.send") else { return false }
            let packet = try OutgoingPacket(.reply, id: id, conversation: conversation, data, descriptors)
            guard !isSent.exchange(true, ordering: .relaxed) else {
                Log.misuse(
                    "MessagePort.Reply.send",
                    "ignored: this message already has a reply; reply to each message once")
                return false
            }
            let sent = connection.reply(packet)
            if case .sent = sent { return true }
            isSent.store(false, ordering: .relaxed)
            if case .failed(let errno) = sent { throw .transportError(errno: errno) }
            return false
        }
    }
}

extension GRunLoop.MessagePort.Reply: AsyncWaiter {
    /// Called if the handler ends its thread before the handler returns a reply.
    package func loopHasEnded() { decline() }
}
