// SPDX-License-Identifier: Apache-2.0
// Messages that ports carry, and their parts.

extension GRunLoop {
    /// A message to a ``Port``: a number, data and ports, and an optional port for the reply.
    ///
    /// The bytes are not copied: the receiver gets the array that was sent.
    ///
    /// To get a reply, pass a port that is in the sender's own loop. The receiver sends the reply to this port:
    ///
    /// ```swift
    /// let main = GRunLoop.Port { message in _ = message.replyPort?.trySend(GRunLoop.PortMessage(id: 2)) }
    /// GRunLoop.main.add(main, forMode: .default)
    /// // On a worker:
    /// let mine = GRunLoop.Port { reply in print(reply.id) }
    /// GRunLoop.current.add(mine, forMode: .default)
    /// _ = main.trySend(GRunLoop.PortMessage(id: 1, replyPort: mine))
    /// ```
    ///
    /// Threads: any. The corresponding Foundation type is `PortMessage`.
    public struct PortMessage: Sendable {
        /// A part of a message: bytes or a port, as in Foundation.
        public struct Component: Sendable {
            enum Storage: Sendable {
                case array([UInt8])
                /// Memory that an object keeps alive, for messages from C.
                case kept(any AnyObject & Sendable, Memory)
                case port(Port)
            }

            /// Memory that is never written, and is read only while the object that keeps it is alive.
            struct Memory: @unchecked Sendable {
                let bytes: UnsafeRawBufferPointer
            }

            let storage: Storage

            /// Makes a part that holds bytes. The receiver gets the same array. Threads: any.
            public static func bytes(_ bytes: [UInt8]) -> Self { Self(storage: .array(bytes)) }

            /// Makes a part that holds a port, to which the receiver can send. An invalid port is allowed, because a
            /// valid port could also become invalid before delivery. Threads: any.
            public static func port(_ port: Port) -> Self { Self(storage: .port(port)) }

            /// The bytes; nil if the part is a port. In a message from C, each access copies the bytes. Threads: any.
            public var bytes: [UInt8]? {
                switch storage {
                case .array(let bytes): bytes
                case .kept(_, let memory): [UInt8](memory.bytes)
                case .port: nil
                }
            }

            /// The port; nil if the part is bytes. Threads: any.
            public var port: Port? {
                if case .port(let port) = storage { port } else { nil }
            }
        }

        /// A number that identifies the kind of message. The sender and the receiver agree on these numbers.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.msgid`.
        public var id: UInt32

        /// The bytes and ports, in the order in which the sender gave them.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.components`.
        public var components: [Component]

        /// The port to which the sender wants a reply; nil if the sender wants no reply.
        ///
        /// Threads: any. In a received message, the corresponding Foundation property is `PortMessage.sendPort`; in a
        /// message to be sent, it is `receivePort`.
        public var replyPort: Port?

        var ports: [Port] { components.compactMap(\.port) + (replyPort.map { [$0] } ?? []) }

        /// The port that received the message; nil until the message is delivered.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.receivePort`.
        public internal(set) var receivePort: Port?

        /// Creates a message, which can be sent any number of times.
        ///
        /// Threads: any. The corresponding Foundation function is `init(send:receive:components:)`.
        public init(id: UInt32 = 0, _ components: [Component] = [], replyPort: Port? = nil) {
            self.id = id
            self.components = components
            self.replyPort = replyPort
        }
    }
}
