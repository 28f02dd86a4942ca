// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-message.h>.

import CGRun
public import CGRunHeaders
import CGRunMessagePorts
import GRunLoop
import GRunLoopMessagePorts
import Synchronization

private let isMessage: StaticString = "message != NULL"

extension Call {
    fileprivate func message(_ pointer: OpaquePointer?) -> CMessage? { object(pointer, isMessage) }

    func descriptors(_ first: UnsafePointer<gint>?, _ count: guint) -> [Int32]? {
        guard requires(first != nil || count == 0, "fds != NULL || n_fds == 0") else { return nil }
        // A message can carry 16 descriptors of the program and one descriptor for the data. Sending 17 descriptors of
        // the program fails. So if the array is longer, reading the first 17 elements is enough to make the call fail.
        return Array(UnsafeBufferPointer(start: first, count: min(Int(clamping: count), Int(CGRUN_PACKET_DESCRIPTORS))))
    }

    /// If `body` throws, sets the `GError` and returns nil.
    func sends<Result>(
        _ place: ErrorPlace?, _ body: () throws(GRunLoop.MessageRequestError) -> Result
    ) -> Result? {
        do throws(GRunLoop.MessageRequestError) { return try body() } catch {
            fail(place, error)
            return nil
        }
    }
}

/// The content of a `GRunMessage`: a received message, or the reply to a request.
final class CMessage {
    private enum Content {
        case message(GRunLoop.MessagePort.Message)
        case reply(GRunLoop.RemoteMessagePort.Reply)
    }

    let id: Int32
    private let content: Content
    private let madeBytes = Atomic<OpaquePointer?>(nil)

    init(_ message: GRunLoop.MessagePort.Message) { (id, content) = (message.id, .message(message)) }

    init(_ reply: GRunLoop.RemoteMessagePort.Reply, to id: Int32) { (self.id, content) = (id, .reply(reply)) }

    deinit { g_bytes_unref(madeBytes.load(ordering: .acquiring)) }

    var data: GRunLoop.MessageData {
        switch content {
        case .message(let message): message.data
        case .reply(let reply): reply.data
        }
    }

    /// The data as a `GBytes`. The `GBytes` is made at the first access. Many programs do not need it, and a sender can
    /// make the first read of the data slow.
    var bytes: OpaquePointer? {
        if let bytes = madeBytes.load(ordering: .acquiring) { return bytes }
        let new = data.makeBytes()
        let (isFirst, former) = madeBytes.compareExchange(
            expected: nil, desired: new, ordering: .acquiringAndReleasing)
        if isFirst { return new }
        g_bytes_unref(new)
        return former
    }

    var reply: GRunLoop.MessagePort.Reply? {
        if case .message(let message) = content { message.reply } else { nil }
    }

    func takeDescriptors() -> [Int32] {
        switch content {
        case .message(let message): message.takeDescriptors()
        case .reply(let reply): reply.takeDescriptors()
        }
    }
}

@c @implementation
public func grun_message_ref(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(message, isMessage) }
}

@c @implementation
public func grun_message_unref(_ message: OpaquePointer?) { Call.of { $0.release(message, isMessage) } }

@c @implementation
public func grun_message_get_id(_ message: OpaquePointer?) -> gint32 { Call.of { $0.message(message)?.id ?? 0 } }

@c @implementation
public func grun_message_get_data(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.message(message)?.bytes }
}

@c @implementation
public func grun_message_get_size(_ message: OpaquePointer?) -> gsize {
    Call.of { gsize($0.message(message)?.data.count ?? 0) }
}

@c @implementation
public func grun_message_take_fds(
    _ message: OpaquePointer?, _ count: UnsafeMutablePointer<guint>?
) -> UnsafeMutablePointer<gint>? {
    Call.of { call in
        count?.pointee = 0
        // A lock guards the descriptors. In a forked child, do not take this lock, because it may stay locked forever.
        guard let message = call.message(message), !Fork.refuses("") else { return nil }
        let descriptors = message.takeDescriptors()
        if descriptors.isEmpty { return nil }
        count?.pointee = guint(descriptors.count)
        let memory = g_malloc0_n(gsize(descriptors.count + 1), gsize(MemoryLayout<gint>.size))
        let copies = memory?.bindMemory(to: gint.self, capacity: descriptors.count + 1)
        for (index, descriptor) in (descriptors + [-1]).enumerated() { copies?[index] = descriptor }
        return copies
    }
}

@c @implementation
public func grun_message_wants_reply(_ message: OpaquePointer?) -> gboolean {
    Call.of { $0.message(message)?.reply != nil }.gboolean
}

@c @implementation
public func grun_message_reply(
    _ message: OpaquePointer?, _ data: OpaquePointer?, _ descriptors: UnsafePointer<gint>?, _ count: guint,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let message = call.message(message),
            let reply = call.required(message.reply, "grun_message_wants_reply (message)"),
            let descriptors = call.descriptors(descriptors, count), call.error(error)
        else { return false }
        let isSent = call.sends(error) { () throws(GRunLoop.MessageRequestError) in
            try reply.send(GRunLoop.MessageData(data), descriptors: descriptors)
        }
        if isSent == false {
            fail(
                error, .becameInvalid,
                "the reply was not sent, because the requester has disconnected or already has a reply")
        }
        return isSent == true
    }.gboolean
}

// MARK: Types and errors

private let messageType = Types.boxed("GRunMessage")
private let requestErrorType = Types.enumeration(
    "GRunMessageRequestError", prefix: "GRUN_MESSAGE_REQUEST_ERROR_",
    [
        (GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT, "SEND_TIMEOUT"),
        (GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT, "RECEIVE_TIMEOUT"),
        (GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, "IS_INVALID"),
        (GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR, "TRANSPORT_ERROR"),
        (GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, "BECAME_INVALID"),
        (GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED, "UNANSWERED"),
        (GRUN_MESSAGE_REQUEST_ERROR_CANCELLED, "CANCELLED"),
        (GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED, "LOOP_ENDED"),
    ])
private let requestErrorQuark = g_quark_from_string("grun-message-request-error-quark")

@c @implementation public func grun_message_get_type() -> GType { messageType }
@c @implementation public func grun_message_request_error_get_type() -> GType { requestErrorType }
@c @implementation public func grun_message_request_error_quark() -> GQuark { requestErrorQuark }

/// Sets a `GError`. The codes of the Swift error are the values of `GRunMessageRequestError`.
func fail(_ place: ErrorPlace?, _ error: GRunLoop.MessageRequestError, _ message: String? = nil) {
    g_set_error_literal(place, requestErrorQuark, gint(error.code), message ?? error.description)
}
