// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-port.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

private let isPort: StaticString = "port != NULL"

extension Call {
    func port(_ pointer: OpaquePointer?) -> GRunLoop.Port? { object(pointer, isPort) }
}

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
        guard let port = call.port(port), let message = call.portMessage(message) else { return false }
        return port.trySend(message.value)
    }.gboolean
}

@c @implementation
public func grun_port_send_before(_ port: OpaquePointer?, _ message: OpaquePointer?, _ limit: gint64) -> gboolean {
    Call.of { call in
        guard let port = call.port(port), let message = call.portMessage(message) else { return false }
        return port.send(message.value, before: GRunLoop.Instant(microseconds: limit))
    }.gboolean
}

@c @implementation
public func grun_port_get_capacity(_ port: OpaquePointer?) -> gint64 {
    Call.of { gint64($0.port(port)?.capacity ?? 0) }
}

@c @implementation
public func grun_port_get_count(_ port: OpaquePointer?) -> gint64 { Call.of { gint64($0.port(port)?.count ?? 0) } }

/// A port that calls a closure when the port is invalidated.
protocol InvalidationNotifier: AnyObject, Sendable {
    func onInvalidation(_ body: @escaping @Sendable () -> Void)
}

extension GRunLoop.Port: InvalidationNotifier {}
extension GRunLoop.MessagePort: InvalidationNotifier {}
extension GRunLoop.RemoteMessagePort: InvalidationNotifier {}

extension Call {
    /// Adds a C function that is called when the port becomes invalid. While the port is being freed, no code can take
    /// a reference to it. So in this case the function gets NULL instead of the port.
    func addInvalidationFunction(
        _ function: GRunPortInvalidationFunc?, _ data: gpointer?, _ notify: GDestroyNotify?,
        to port: some InvalidationNotifier
    ) {
        guard let function = self.function(function) else { return }
        let closure = Closure(function, data, notify)
        port.onInvalidation { [weak port] in
            withExtendedLifetime(port) { closure.function(port.map(borrowed), closure.data) }
        }
    }
}

@c @implementation
public func grun_port_add_invalidation_func(
    _ port: OpaquePointer?, _ function: GRunPortInvalidationFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in call.port(port).map { call.addInvalidationFunction(function, data, notify, to: $0) } }
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

// MARK: In modes

@c @implementation
public func grun_loop_add_port(_ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.port(port) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_port(_ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.port(port) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.port(port) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let portType = Types.boxed("GRunPort")

@c @implementation public func grun_port_get_type() -> GType { portType }
