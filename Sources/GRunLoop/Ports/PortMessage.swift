// SPDX-License-Identifier: Apache-2.0
// What a port carries.

extension GRunLoop {
    /// A message to a ``Port``: a number, data and ports, and where a reply is to go.
    ///
    /// The bytes are not copied on the way: the receiver has the array that was sent.
    ///
    /// A sender that wants a reply gives a port of its own, which is in its own loop, and the receiver sends there:
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
                /// Memory that an object keeps: what C sends.
                case kept(any AnyObject & Sendable, Memory)
                case port(Port)
            }

            /// Read only, and as long as its keeper lives.
            struct Memory: @unchecked Sendable {
                let bytes: UnsafeRawBufferPointer
            }

            let storage: Storage

            /// Bytes, of which the receiver gets this array. Threads: any.
            public static func bytes(_ bytes: [UInt8]) -> Self { Self(storage: .array(bytes)) }

            /// A port, to which the receiver can send. One that is invalid is carried like any other: it may become so
            /// on the way. Threads: any.
            public static func port(_ port: Port) -> Self { Self(storage: .port(port)) }

            /// The bytes; nil if it is a port. Those that C has sent are copied. Threads: any.
            public var bytes: [UInt8]? {
                switch storage {
                case .array(let bytes): bytes
                case .kept(_, let memory): [UInt8](memory.bytes)
                case .port: nil
                }
            }

            /// The port; nil if it is bytes. Threads: any.
            public var port: Port? {
                if case .port(let port) = storage { port } else { nil }
            }
        }

        /// What the message means: for sender and receiver to agree on.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.msgid`.
        public var id: UInt32

        /// Bytes and ports, in their order.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.components`.
        public var components: [Component]

        /// Where the sender wants a reply, nil if nowhere.
        ///
        /// Threads: any. In a message that was received the corresponding Foundation property is
        /// `PortMessage.sendPort`, in one to be sent `receivePort`.
        public var replyPort: Port?

        /// Those that it holds until it is delivered.
        var ports: [Port] { components.compactMap(\.port) + (replyPort.map { [$0] } ?? []) }

        /// The port through which the message came; nil until it is delivered.
        ///
        /// Threads: any. The corresponding Foundation property is `PortMessage.receivePort`.
        public internal(set) var receivePort: Port?

        /// A message that can be sent, any number of times.
        ///
        /// Threads: any. The corresponding Foundation function is `init(send:receive:components:)`.
        public init(id: UInt32 = 0, _ components: [Component] = [], replyPort: Port? = nil) {
            self.id = id
            self.components = components
            self.replyPort = replyPort
        }
    }
}
