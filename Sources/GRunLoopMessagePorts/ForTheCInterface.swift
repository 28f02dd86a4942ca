// SPDX-License-Identifier: Apache-2.0
// The functions of message ports that only the C interface needs.

package import GRunLoop

// MARK: The data and the handlers of message ports

extension GRunLoop.MessageData {
    /// Makes message data from bytes that stay valid while `keeper` lives. The bytes are not copied.
    package static func bytes(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) -> Self {
        Self(bytes, keptBy: keeper)
    }

    /// The object that keeps the bytes valid; nil for an array.
    package var keeper: (any AnyObject & Sendable)? {
        switch storage {
        case .array: return nil
        case .kept(let keeper, _): return keeper
        case .received(let memory): return memory
        }
    }
}

extension GRunLoop.MessagePort {
    /// Makes a port as ``init(_:handler:)`` does. The handler also gets the port, but does not keep the port alive.
    package convenience init(
        _ name: String?, portHandler handler: @escaping @Sendable (GRunLoop.MessagePort, Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let place = Place()
        // The port is not in a loop yet, so no loop calls the handler before `place.port` is set.
        try self.init(name) { message in
            if let port = place.port { handler(port, message) }
        }
        place.port = self
    }

    /// Makes a port as ``init(replying:handler:)`` does. The handler also gets the port, but does not keep the port
    /// alive.
    package convenience init(
        replying name: String?,
        portHandler handler: @escaping @Sendable (GRunLoop.MessagePort, Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        try self.init(name, portHandler: { port, message in Self.reply(to: message) { handler(port, $0) } })
    }

    private final class Place: @unchecked Sendable {
        weak var port: GRunLoop.MessagePort?
    }
}

// MARK: Requests to message ports that call a closure

extension GRunLoop.RemoteMessagePort {
    /// Starts a request as ``request(_:_:descriptors:sendTimeout:receiveTimeout:on:replyMode:)`` does. `completion` is
    /// called once with the result, on the loop's thread, and not before this function has returned. Returns a number
    /// for ``cancelRequest(_:)``, which is not 0. If the loop ends before the request, `completion` is released without
    /// a call.
    package func startRequest(
        _ id: Int32, _ data: GRunLoop.MessageData, descriptors: [Int32], sendTimeout: Duration,
        receiveTimeout: Duration, on loop: GRunLoop, replyMode: GRunLoop.Mode,
        completion: @escaping @Sendable (Result<Reply, GRunLoop.MessageRequestError>) -> Void
    ) throws(GRunLoop.MessageRequestError) -> UInt32 {
        guard !Fork.refuses("RemoteMessagePort.startRequest") else { throw .isInvalid }
        return try MessageRequest.start(
            id, data, descriptors, sendTimeout, receiveTimeout, to: self, on: loop, replyMode, completion: completion)
    }

    /// Cancels a request of `startRequest`. The request then ends with ``GRunLoop/MessageRequestError/cancelled``.
    /// Returns whether the request was under way. Any thread.
    package func cancelRequest(_ number: UInt32) -> Bool {
        !Fork.refuses("RemoteMessagePort.cancelRequest") && underWay(number).map(cancel) == true
    }
}
