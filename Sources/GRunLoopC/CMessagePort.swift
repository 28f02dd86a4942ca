// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-message-port.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

private let isPort: StaticString = "port != NULL"

extension Call {
    func messagePort(_ pointer: OpaquePointer?) -> GRunLoop.MessagePort? { object(pointer, isPort) }

    /// Converts the name of a port. NULL gives `.some(nil)`. If the name is not UTF-8, logs a critical message and
    /// returns nil.
    fileprivate func nullableName(_ name: UnsafePointer<CChar>?) -> String?? {
        guard let name else { return .some(nil) }
        guard let text = validated(name) else { return nil }
        return text
    }

    /// If `body` throws, sets the `GError` and returns nil.
    func tries<Result>(
        _ place: ErrorPlace?, _ body: () throws(GRunLoop.MessagePortError) -> Result
    ) -> Result? {
        do throws(GRunLoop.MessagePortError) { return try body() } catch {
            fail(place, error.code, error.description)
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
public func grun_message_port_add_invalidation_func(
    _ port: OpaquePointer?, _ function: GRunMessagePortInvalidationFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in call.messagePort(port).map { call.addInvalidationFunction(function, data, notify, to: $0) } }
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

// MARK: In modes

@c @implementation
public func grun_loop_add_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.messagePort(port) : nil }, mode, otherwise: false) { loop, port, mode in
        adds(port, to: loop, mode, error)
    }.gboolean
}

@c @implementation
public func grun_loop_remove_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.messagePort(port) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.messagePort(port) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let messagePortType = Types.boxed("GRunMessagePort")

@c @implementation public func grun_message_port_get_type() -> GType { messagePortType }
