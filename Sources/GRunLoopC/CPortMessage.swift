// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-port-message.h>.

public import CGRunHeaders
import GRunLoop

typealias SharedMessage = GRunLoop.PortMessage.Shared

private let isMessage: StaticString = "message != NULL"

extension Call {
    /// Returns the port message, for functions that take the message's lock. If the pointer is NULL, or in a forked
    /// child, writes a log message and returns nil.
    func portMessage(_ pointer: OpaquePointer?) -> SharedMessage? {
        let message: SharedMessage? = object(pointer, isMessage)
        return message == nil || Fork.refuses("") ? nil : message
    }

    fileprivate func component(_ pointer: OpaquePointer?, _ index: guint) -> GRunLoop.PortMessage.Component? {
        guard let message = portMessage(pointer) else { return nil }
        return required(message.component(at: Int(index)), "index < grun_port_message_get_n_components (message)")
    }
}

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
        guard let message = call.portMessage(message), let bytes = call.required(bytes, "bytes != NULL") else { return }
        let kept = Bytes(bytes)
        message.append(.bytes(kept.memory, keptBy: kept))
    }
}

@c @implementation
public func grun_port_message_add_port(_ message: OpaquePointer?, _ port: OpaquePointer?) {
    Call.of { call in
        guard let message = call.portMessage(message), let port = call.port(port) else { return }
        message.append(.port(port))
    }
}

@c @implementation
public func grun_port_message_set_reply_port(_ message: OpaquePointer?, _ port: OpaquePointer?) {
    Call.of { call in call.portMessage(message)?.replyPort = port.flatMap { call.port($0) } }
}

@c @implementation
public func grun_port_message_get_id(_ message: OpaquePointer?) -> guint32 {
    Call.of { ($0.object(message, isMessage, as: SharedMessage.self))?.id ?? 0 }
}

@c @implementation
public func grun_port_message_get_n_components(_ message: OpaquePointer?) -> guint {
    Call.of { guint(clamping: $0.portMessage(message)?.count ?? 0) }
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
    Call.of { $0.portMessage(message)?.replyPort.map(retained) }
}

@c @implementation
public func grun_port_message_get_receive_port(_ message: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.portMessage(message)?.receivePort.map(retained) }
}

// MARK: The type

private let portMessageType = Types.boxed("GRunPortMessage")

@c @implementation public func grun_port_message_get_type() -> GType { portMessageType }
