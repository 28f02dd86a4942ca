// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-signal-source.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_signal_source_new(
    _ signal: gint, _ replacing: gboolean, _ function: GRunSignalSourceFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let function = call.function(function), call.error(error) else { return nil }
        let closure = Closure(function, data, notify)
        do throws(GRunLoop.SystemError) {
            return retained(
                try GRunLoop.SignalSource(signal, replacing: Bool(replacing)) { source, count in
                    let stays = closure.function(borrowed(source), guint64(count), closure.data)
                    if !Bool(stays) { source.invalidate() }
                })
        } catch let failure {
            fail(error, failure)
            return nil
        }
    }
}

private let isSource: StaticString = "source != NULL"

extension Call {
    func signalSource(_ pointer: OpaquePointer?) -> GRunLoop.SignalSource? { object(pointer, isSource) }
}

@c @implementation
public func grun_signal_source_ref(_ source: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(source, isSource) }
}

@c @implementation
public func grun_signal_source_unref(_ source: OpaquePointer?) { Call.of { $0.release(source, isSource) } }

@c @implementation
public func grun_signal_source_get_signum(_ source: OpaquePointer?) -> gint {
    Call.of { $0.signalSource(source)?.signal ?? -1 }
}

@c @implementation
public func grun_signal_source_invalidate(_ source: OpaquePointer?) {
    Call.of { $0.signalSource(source)?.invalidate() }
}

@c @implementation
public func grun_signal_source_is_valid(_ source: OpaquePointer?) -> gboolean {
    Call.of { $0.signalSource(source)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_signal_source_set_label(_ source: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let source = call.signalSource(source), let label = call.label(label) else { return }
        source.label = label
    }
}

@c @implementation
public func grun_signal_source_copy_label(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.signalSource(source)?.label).flatMap(copy) }
}

@c @implementation
public func grun_signal_source_to_string(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.signalSource(source)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.signalSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        adds(source, to: loop, mode, error)
    }.gboolean
}

@c @implementation
public func grun_loop_remove_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.signalSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.signalSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let signalSourceType = Types.boxed("GRunSignalSource")

@c @implementation public func grun_signal_source_get_type() -> GType { signalSourceType }
