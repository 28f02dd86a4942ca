// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-port.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

private typealias SharedMessage = GRunLoop.PortMessage.Shared

private let isPort: StaticString = "port != NULL"
private let isMessage: StaticString = "message != NULL"

extension Call {
    func port(_ pointer: OpaquePointer?) -> GRunLoop.Port? { object(pointer, isPort) }

    /// The message, for functions that take its lock. Nil, after a log message, if it is NULL or in a forked child.
    fileprivate func message(_ pointer: OpaquePointer?) -> SharedMessage? {
        let message: SharedMessage? = object(pointer, isMessage)
        return message == nil || Fork.refuses("") ? nil : message
    }

    fileprivate func component(_ pointer: OpaquePointer?, _ index: guint) -> GRunLoop.PortMessage.Component? {
        guard let message = message(pointer) else { return nil }
        return required(message.component(at: Int(index)), "index < grun_port_message_get_n_components (message)")
    }
}

// MARK: Ports

@c @implementation
public func grun_port_new(
    _ capacity: gint64, _ function: GRunPortFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { _ in
        let closure = Closure(function, data, notify)
        return retained(
            GRunLoop.Port(capacity: Int(capacity)) { message in
                guard let function = closure.function else { return }
                let message = SharedMessage(message)
                withExtendedLifetime(message) { function(borrowed(message), closure.data) }
            })
    }
}

@c @implementation
public func grun_port_ref(_ port: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(port, isPort) } }

@c @implementation
public func grun_port_unref(_ port: OpaquePointer?) { Call.of { $0.release(port, isPort) } }

@c @implementation
public func grun_port_send(_ port: OpaquePointer?, _ message: OpaquePointer?) -> gboolean {
    Call.of { call in
        guard let port = call.port(port), let message = call.message(message) else { return false }
        return port.trySend(message.value)
    }.gboolean
}

@c @implementation
public func grun_port_send_before(_ port: OpaquePointer?, _ message: OpaquePointer?, _ limit: gint64) -> gboolean {
    Call.of { call in
        guard let port = call.port(port), let message = call.message(message) else { return false }
        return port.send(message.value, before: GRunLoop.Instant(microseconds: limit))
    }.gboolean
}

@c @implementation
public func grun_port_get_capacity(_ port: OpaquePointer?) -> gint64 {
    Call.of { gint64($0.port(port)?.capacity ?? 0) }
}

@c @implementation
public func grun_port_get_count(_ port: OpaquePointer?) -> gint64 { Call.of { gint64($0.port(port)?.count ?? 0) } }

/// A port that calls a closure when it is invalidated.
protocol TellsOfInvalidation {
    func onInvalidation(_ body: @escaping @Sendable () -> Void)
}

extension GRunLoop.Port: TellsOfInvalidation {}
extension GRunLoop.MessagePort: TellsOfInvalidation {}
extension GRunLoop.RemoteMessagePort: TellsOfInvalidation {}

extension Call {
    func tell(
        of port: some TellsOfInvalidation, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
    ) {
        guard let function = self.function(function) else { return }
        let closure = Closure(function, data, notify)
        port.onInvalidation { closure.call() }
    }
}

@c @implementation
public func grun_port_on_invalidation(
    _ port: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in call.port(port).map { call.tell(of: $0, function, data, notify) } }
}

@c @implementation
public func grun_port_invalidate(_ port: OpaquePointer?) { Call.of { $0.port(port)?.invalidate() } }

@c @implementation
public func grun_port_is_valid(_ port: OpaquePointer?) -> gboolean {
    Call.of { $0.port(port)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_port_set_label(_ port: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let port = call.port(port), let label = call.label(label) else { return }
        port.label = label
    }
}

@c @implementation
public func grun_port_copy_label(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.port(port)?.label).flatMap(copy) }
}

@c @implementation
public func grun_port_to_string(_ port: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.port(port)?.description).flatMap(copy) }
}

// MARK: Messages

@c @implementation
public func grun_port_message_new(_ id: guint32) -> OpaquePointer? {
    Call.of { _ in retained(SharedMessage(GRunLoop.PortMessage(id: id))) }
}

@c @implementation
public func grun_port_message_ref(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(message, isMessage) }
}

@c @implementation
public func grun_port_message_unref(_ message: OpaquePointer?) { Call.of { $0.release(message, isMessage) } }

@c @implementation
public func grun_port_message_add_bytes(_ message: OpaquePointer?, _ bytes: OpaquePointer?) {
    Call.of { call in
        guard let message = call.message(message), let bytes = call.required(bytes, "bytes != NULL") else { return }
        let kept = Bytes(bytes)
        message.append(.bytes(kept.memory, keptBy: kept))
    }
}

@c @implementation
public func grun_port_message_add_port(_ message: OpaquePointer?, _ port: OpaquePointer?) {
    Call.of { call in
        guard let message = call.message(message), let port = call.port(port) else { return }
        message.append(.port(port))
    }
}

@c @implementation
public func grun_port_message_set_reply_port(_ message: OpaquePointer?, _ port: OpaquePointer?) {
    Call.of { call in call.message(message)?.replyPort = port.flatMap { call.port($0) } }
}

@c @implementation
public func grun_port_message_get_id(_ message: OpaquePointer?) -> guint32 {
    Call.of { ($0.object(message, isMessage, as: SharedMessage.self))?.id ?? 0 }
}

@c @implementation
public func grun_port_message_get_n_components(_ message: OpaquePointer?) -> guint {
    Call.of { guint(clamping: $0.message(message)?.count ?? 0) }
}

@c @implementation
public func grun_port_message_get_bytes(_ message: OpaquePointer?, _ index: guint) -> OpaquePointer? {
    Call.of { call in
        guard let component = call.component(message, index) else { return nil }
        if let kept = component.keeper as? Bytes { return g_bytes_ref(kept.pointer) }
        return component.bytes.flatMap { g_bytes_new($0, gsize($0.count)) }
    }
}

@c @implementation
public func grun_port_message_get_port(_ message: OpaquePointer?, _ index: guint) -> OpaquePointer? {
    Call.of { $0.component(message, index)?.port.map(retained) }
}

@c @implementation
public func grun_port_message_get_reply_port(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.message(message)?.replyPort.map(retained) }
}

@c @implementation
public func grun_port_message_get_receive_port(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.message(message)?.receivePort.map(retained) }
}
