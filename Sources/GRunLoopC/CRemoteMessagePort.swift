// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-remote-message-port.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

private let isPort: StaticString = "port != NULL"

extension Call {
    fileprivate func remotePort(_ pointer: OpaquePointer?) -> GRunLoop.RemoteMessagePort? { object(pointer, isPort) }
}

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
public func grun_remote_message_port_cancel_wait() -> gboolean {
    Call.of { _ in GRunLoop.RemoteMessagePort.cancelWait() }.gboolean
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
public func grun_remote_message_port_add_invalidation_func(
    _ port: OpaquePointer?, _ function: GRunRemoteMessagePortInvalidationFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of { call in call.remotePort(port).map { call.addInvalidationFunction(function, data, notify, to: $0) } }
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

// MARK: The type

private let remoteMessagePortType = Types.boxed("GRunRemoteMessagePort")

@c @implementation public func grun_remote_message_port_get_type() -> GType { remoteMessagePortType }
