// SPDX-License-Identifier: Apache-2.0
// What a message port receives, and how it is replied to.

import Synchronization

extension GRunLoop.MessagePort {
    /// A message from another process, or from this one.
    ///
    /// Threads: any. Core Foundation hands its parts to the `CFMessagePortCallBack`.
    public struct Message: Sendable {
        /// What the message means: for both sides to agree on. Threads: any.
        public let id: Int32
        /// The bytes, none if none were sent. They can be kept. Threads: any.
        public let data: GRunLoop.MessageData
        /// By what the sender gets a reply; nil if it wants none. Threads: any.
        public let reply: Reply?
        private let descriptors: ReceivedDescriptors?

        init(_ packet: IncomingPacket, _ data: GRunLoop.MessageData, _ reply: Reply?) {
            id = packet.id
            self.data = data
            descriptors = packet.descriptors
            self.reply = reply
        }

        /// How many descriptors came with it, and were not taken. Threads: any.
        public var descriptorCount: Int { descriptors?.count ?? 0 }

        /// The descriptors that came with it, close-on-exec and in the order in which they were sent: the caller's from
        /// now on, who closes them. The second time there are none. What nobody takes is closed with the message.
        ///
        /// Threads: any. Core Foundation has nothing of the kind; GLib's function is
        /// `g_unix_fd_message_steal_fds`.
        public func takeDescriptors() -> [Int32] { descriptors?.take() ?? [] }
    }

    /// The reply to a message that wants one: now, or later, from any thread, and once.
    ///
    /// If it is let go of without a reply, the one who asked gets ``GRunLoop/MessageRequestError/unanswered``.
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

        /// Replies. After a reply that is on its way it is logged, and nothing is sent.
        ///
        /// - Parameters:
        ///   - data: up to 1,610,612,736 bytes. None is a reply without data.
        ///   - descriptors: up to 16, which the receiver gets copies of. They stay the caller's.
        ///
        /// A reply waits in the port's queue while the client's queue is full, and while memory or descriptors are
        /// short. It also waits while the client's process has not taken 16 MiB of earlier replies, or one larger
        /// reply.
        ///
        /// - Returns: whether the reply is on its way. False if the client has gone or the port is invalid. Also false
        ///   if the client does not take its replies. The port closes its connection when 1,024 replies, 64 MiB or 64
        ///   descriptors wait for its process. It also does so when all processes together have left 256 MiB and a
        ///   reply to this process waits already. A reply counts as 16 MiB at most.
        /// - Throws: ``GRunLoop/MessageRequestError/transportError(errno:)``, also if the reply must wait and no
        ///   descriptor is left for copies of its descriptors; another reply can be tried.
        ///
        /// Threads: any; it does not wait. There is no corresponding Core Foundation function.
        @discardableResult public func send(
            _ data: GRunLoop.MessageData = [], descriptors: [Int32] = []
        ) throws(GRunLoop.MessageRequestError) -> Bool {
            guard !Fork.refuses("MessagePort.Reply.send") else { return false }
            let packet = try OutgoingPacket(.reply, id: id, conversation: conversation, data, descriptors)
            guard !isSent.exchange(true, ordering: .relaxed) else {
                Log.misuse(
                    "MessagePort.Reply.send",
                    "this message has its reply already, so this is ignored")
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
    /// The handler has ended its thread before it returned the reply.
    func loopHasEnded() { decline() }
}
