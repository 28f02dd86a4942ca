// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-message-port.h>.

public import CGRun
import CGRunHeaders
import CGRunMessagePorts
import GRunLoop
import GRunLoopMessagePorts
import Synchronization

private let isPort: StaticString = "port != NULL"
private let isMessage: StaticString = "message != NULL"

extension Call {
    func messagePort(_ pointer: OpaquePointer?) -> GRunLoop.MessagePort? { object(pointer, isPort) }

    fileprivate func remotePort(_ pointer: OpaquePointer?) -> GRunLoop.RemoteMessagePort? { object(pointer, isPort) }

    fileprivate func message(_ pointer: OpaquePointer?) -> CMessage? { object(pointer, isMessage) }

    /// The name of a port, which may be NULL: then the result is `.some(nil)`. Nil, after a critical message, if the
    /// name is not UTF-8.
    fileprivate func nullableName(_ name: UnsafePointer<CChar>?) -> String?? {
        guard let name else { return .some(nil) }
        guard let text = validated(name) else { return nil }
        return text
    }

    fileprivate func descriptors(_ first: UnsafePointer<gint>?, _ count: guint) -> [Int32]? {
        guard requires(first != nil || count == 0, "fds != NULL || n_fds == 0") else { return nil }
        // A message has room for 16 descriptors of the program and one for the data. An array of 17 is refused when it
        // is sent, so no more than 17 elements are read of a longer one.
        return Array(UnsafeBufferPointer(start: first, count: min(Int(clamping: count), Int(CGRUN_PACKET_DESCRIPTORS))))
    }

    /// Runs `body`. If it throws an error about a port or its name, sets the `GError` and returns nil.
    fileprivate func tries<Result>(
        _ place: ErrorPlace?, _ body: () throws(GRunLoop.MessagePortError) -> Result
    ) -> Result? {
        do throws(GRunLoop.MessagePortError) { return try body() } catch {
            fail(place, error.code, error.description)
            return nil
        }
    }

    /// Runs `body`, which sends a message, a request or a reply. If it throws, sets the `GError` and returns nil.
    fileprivate func sends<Result>(
        _ place: ErrorPlace?, _ body: () throws(GRunLoop.MessageRequestError) -> Result
    ) -> Result? {
        do throws(GRunLoop.MessageRequestError) { return try body() } catch {
            fail(place, error)
            return nil
        }
    }
}

extension GRunLoop.MessagePortError {
    fileprivate var code: GRunError {
        switch self {
        case .invalidName: GRUN_ERROR_INVALID_NAME
        case .taken: GRUN_ERROR_NAME_TAKEN
        case .notFound: GRUN_ERROR_NOT_FOUND
        case .noRuntimeDirectory: GRUN_ERROR_NO_RUNTIME_DIRECTORY
        case .unsafeDirectory: GRUN_ERROR_UNSAFE_DIRECTORY
        case .notPermitted: GRUN_ERROR_NOT_PERMITTED
        case .unknownUsers: GRUN_ERROR_UNKNOWN_USERS
        case .invalidPort: GRUN_ERROR_INVALID_PORT
        case .limitReached: GRUN_ERROR_LIMIT_REACHED
        case .system: GRUN_ERROR_SYSTEM
        case .forbidden, .forked: GRUN_ERROR_NOT_SUPPORTED
        }
    }
}

/// The content of a `GRunMessage`: a received message, or the reply to a request.
private final class CMessage {
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

    /// The data as a `GBytes`, made at the first call. Received data is checked when it is first read, and its sender
    /// determines how long that takes. So the `GBytes` is not made earlier.
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

// MARK: Message ports

@c @implementation
public func grun_message_port_new(
    _ name: UnsafePointer<CChar>?, _ function: GRunMessagePortFunc?, _ data: gpointer?, _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let name = call.nullableName(name), let function = call.function(function), call.error(error) else {
            return nil
        }
        let closure = Closure(function, data, notify)
        return call.tries(error) { () throws(GRunLoop.MessagePortError) in
            retained(
                try GRunLoop.MessagePort(name) { port, message in
                    let message = CMessage(message)
                    withExtendedLifetime(message) {
                        closure.function(borrowed(port), borrowed(message), closure.data)
                    }
                })
        }
    }
}

@c @implementation
public func grun_message_port_new_replying(
    _ name: UnsafePointer<CChar>?, _ function: GRunMessageReplyingFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let name = call.nullableName(name), let function = call.function(function), call.error(error) else {
            return nil
        }
        let closure = Closure(function, data, notify)
        return call.tries(error) { () throws(GRunLoop.MessagePortError) in
            retained(
                try GRunLoop.MessagePort(replying: name) { port, message in
                    let message = CMessage(message)
                    let reply = withExtendedLifetime(message) {
                        closure.function(borrowed(port), borrowed(message), closure.data)
                    }
                    defer { g_bytes_unref(reply) }
                    return GRunLoop.MessageData(reply)
                })
        }
    }
}

@c @implementation
public func grun_message_port_ref(_ port: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(port, isPort) } }

@c @implementation
public func grun_message_port_unref(_ port: OpaquePointer?) { Call.of { $0.release(port, isPort) } }

@c @implementation
public func grun_message_port_copy_name(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.messagePort(port)?.name).flatMap(copy) }
}

@c @implementation
public func grun_message_port_set_name(
    _ port: OpaquePointer?, _ name: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let port = call.messagePort(port), let name = call.name(name), call.error(error) else { return false }
        return call.tries(error) { () throws(GRunLoop.MessagePortError) in try port.setName(name) } != nil
    }.gboolean
}

@c @implementation
public func grun_message_port_on_invalidation(
    _ port: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in call.messagePort(port).map { call.tell(of: $0, function, data, notify) } }
}

@c @implementation
public func grun_message_port_invalidate(_ port: OpaquePointer?) { Call.of { $0.messagePort(port)?.invalidate() } }

@c @implementation
public func grun_message_port_is_valid(_ port: OpaquePointer?) -> gboolean {
    Call.of { $0.messagePort(port)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_message_port_get_maximum_handler_depth(_ port: OpaquePointer?) -> guint {
    Call.of { guint(clamping: $0.messagePort(port)?.maximumHandlerDepth ?? 0) }
}

@c @implementation
public func grun_message_port_set_maximum_handler_depth(_ port: OpaquePointer?, _ depth: guint) {
    Call.of { $0.messagePort(port)?.maximumHandlerDepth = Int(depth) }
}

@c @implementation
public func grun_message_port_set_label(_ port: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let port = call.messagePort(port), let label = call.label(label) else { return }
        port.label = label
    }
}

@c @implementation
public func grun_message_port_copy_label(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.messagePort(port)?.label).flatMap(copy) }
}

@c @implementation
public func grun_message_port_to_string(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.messagePort(port)?.description).flatMap(copy) }
}

// MARK: Messages and replies

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
        // The descriptors are behind a lock, which nothing may take in a forked child.
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
            fail(error, .becameInvalid, "nobody waits for this reply: who asked has gone, or was replied to before")
        }
        return isSent == true
    }.gboolean
}

// MARK: Remote message ports

@c @implementation
public func grun_remote_message_port_look_up(
    _ name: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let name = call.name(name), call.error(error) else { return nil }
        return call.tries(error) { () throws(GRunLoop.MessagePortError) in
            retained(try GRunLoop.RemoteMessagePort.lookUp(name))
        }
    }
}

@c @implementation
public func grun_remote_message_port_ref(_ port: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(port, isPort) }
}

@c @implementation
public func grun_remote_message_port_unref(_ port: OpaquePointer?) { Call.of { $0.release(port, isPort) } }

@c @implementation
public func grun_remote_message_port_copy_name(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.remotePort(port)?.name).flatMap(copy) }
}

@c @implementation
public func grun_remote_message_port_request(
    _ port: OpaquePointer?, _ id: gint32, _ data: OpaquePointer?, _ descriptors: UnsafePointer<gint>?,
    _ count: guint, _ sendTimeout: gdouble, _ receiveTimeout: gdouble, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let port = call.remotePort(port), let descriptors = call.descriptors(descriptors, count),
            let sendTimeout = call.seconds(sendTimeout, "!isnan (send_timeout)"),
            let receiveTimeout = call.seconds(receiveTimeout, "!isnan (receive_timeout)"),
            let mode = call.runnableMode(mode), call.error(error)
        else { return nil }
        return call.sends(error) { () throws(GRunLoop.MessageRequestError) in
            let reply = try port.request(
                id, GRunLoop.MessageData(data), descriptors: descriptors, sendTimeout: sendTimeout,
                receiveTimeout: receiveTimeout, replyMode: mode)
            return retained(CMessage(reply, to: id))
        }
    }
}

@c @implementation
public func grun_remote_message_port_start_request(
    _ port: OpaquePointer?, _ id: gint32, _ data: OpaquePointer?, _ descriptors: UnsafePointer<gint>?,
    _ count: guint, _ sendTimeout: gdouble, _ receiveTimeout: gdouble, _ loop: OpaquePointer?,
    _ mode: UnsafePointer<CChar>?, _ function: GRunReplyFunc?, _ userData: gpointer?, _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> guint32 {
    Call.of { call in
        guard let port = call.remotePort(port), let descriptors = call.descriptors(descriptors, count),
            let sendTimeout = call.seconds(sendTimeout, "!isnan (send_timeout)"),
            let receiveTimeout = call.seconds(receiveTimeout, "!isnan (receive_timeout)"),
            let loop = call.loop(loop), let mode = call.mode(mode), let function = call.function(function),
            call.error(error)
        else { return 0 }
        let closure = Closure(function, userData, notify)
        return call.sends(error) { () throws(GRunLoop.MessageRequestError) in
            try port.startRequest(
                id, GRunLoop.MessageData(data), descriptors: descriptors, sendTimeout: sendTimeout,
                receiveTimeout: receiveTimeout, on: loop, replyMode: mode
            ) { closure.call(port, id, $0) }
        } ?? 0
    }
}

extension Closure where Function == GRunReplyFunc {
    fileprivate func call(
        _ port: GRunLoop.RemoteMessagePort, _ id: Int32,
        _ outcome: Result<GRunLoop.RemoteMessagePort.Reply, GRunLoop.MessageRequestError>
    ) {
        switch outcome {
        case .success(let reply):
            let message = CMessage(reply, to: id)
            withExtendedLifetime((port, message)) { function(borrowed(port), borrowed(message), nil, data) }
        case .failure(let reason):
            var error: UnsafeMutablePointer<GError>?
            fail(&error, reason)
            withExtendedLifetime(port) { function(borrowed(port), nil, error, data) }
            g_error_free(error)
        }
    }
}

@c @implementation
public func grun_remote_message_port_cancel_request(_ port: OpaquePointer?, _ request: guint32) -> gboolean {
    Call.of { $0.remotePort(port)?.cancelRequest(request) ?? false }.gboolean
}

@c @implementation
public func grun_remote_message_port_send(
    _ port: OpaquePointer?, _ id: gint32, _ data: OpaquePointer?, _ descriptors: UnsafePointer<gint>?,
    _ count: guint, _ sendTimeout: gdouble, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let port = call.remotePort(port), let descriptors = call.descriptors(descriptors, count),
            let sendTimeout = call.seconds(sendTimeout, "!isnan (send_timeout)")
        else { return false }
        let runnable = mode.flatMap { call.runnableMode($0) }
        guard mode == nil || runnable != nil, call.error(error) else { return false }
        return call.sends(error) { () throws(GRunLoop.MessageRequestError) in
            try port.send(
                id, GRunLoop.MessageData(data), descriptors: descriptors, sendTimeout: sendTimeout, mode: runnable)
        } != nil
    }.gboolean
}

@c @implementation
public func grun_remote_message_port_on_invalidation(
    _ port: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in call.remotePort(port).map { call.tell(of: $0, function, data, notify) } }
}

@c @implementation
public func grun_remote_message_port_invalidate(_ port: OpaquePointer?) {
    Call.of { $0.remotePort(port)?.invalidate() }
}

@c @implementation
public func grun_remote_message_port_is_valid(_ port: OpaquePointer?) -> gboolean {
    Call.of { $0.remotePort(port)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_remote_message_port_to_string(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.remotePort(port)?.description).flatMap(copy) }
}
