// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-source.h>.

public import CGRunHeaders
import GRunLoop

/// The C functions of a version-0 source. The source retains this object, so this object must not retain the source.
private final class SourceClosure: Closure<GRunSourceFunc>, @unchecked Sendable {
    unowned(unsafe) var source: GRunLoop.Source?

    func perform() {
        guard let source else { return }
        if !Bool(function(borrowed(source), data)) { source.invalidate() }
    }

    /// Makes the `schedule` or `cancel` closure of the source from a C function; nil if there is no function.
    func calling(_ function: GRunScheduleFunc?) -> (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? {
        guard let function else { return nil }
        return { [self] loop, mode in
            if let source { mode.rawValue.withCString { function(borrowed(source), borrowed(loop), $0, data) } }
        }
    }
}

@c @implementation
public func grun_source_new(
    _ order: gint, _ function: GRunSourceFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard let function = call.function(function) else { return nil }
        return makeSource(order, nil, nil, function, data, notify)
    }
}

@c @implementation
public func grun_source_new_full(
    _ order: gint, _ schedule: GRunScheduleFunc?, _ cancel: GRunScheduleFunc?, _ perform: GRunSourceFunc?,
    _ data: gpointer?,
    _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard let perform = call.required(perform, "perform != NULL") else { return nil }
        return makeSource(order, schedule, cancel, perform, data, notify)
    }
}

private func makeSource(
    _ order: gint, _ schedule: GRunScheduleFunc?, _ cancel: GRunScheduleFunc?, _ perform: @escaping GRunSourceFunc,
    _ data: gpointer?,
    _ notify: GDestroyNotify?
) -> OpaquePointer {
    let closure = SourceClosure(perform, data, notify)
    let source = GRunLoop.Source(
        order: Int(order), schedule: closure.calling(schedule), cancel: closure.calling(cancel)
    ) {
        closure.perform()
    }
    closure.source = source
    return retained(source)
}

private let isSource: StaticString = "source != NULL"

extension Call {
    func source(_ pointer: OpaquePointer?) -> GRunLoop.Source? { object(pointer, isSource) }
}

@c @implementation
public func grun_source_ref(_ source: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(source, isSource) } }

@c @implementation
public func grun_source_unref(_ source: OpaquePointer?) { Call.of { $0.release(source, isSource) } }

@c @implementation
public func grun_source_signal(_ source: OpaquePointer?) { Call.of { $0.source(source)?.signal() } }

@c @implementation
public func grun_source_is_signalled(_ source: OpaquePointer?) -> gboolean {
    Call.of { $0.source(source)?.isSignalled ?? false }.gboolean
}

@c @implementation
public func grun_source_get_order(_ source: OpaquePointer?) -> gint { Call.of { gint($0.source(source)?.order ?? 0) } }

@c @implementation
public func grun_source_invalidate(_ source: OpaquePointer?) { Call.of { $0.source(source)?.invalidate() } }

@c @implementation
public func grun_source_is_valid(_ source: OpaquePointer?) -> gboolean {
    Call.of { $0.source(source)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_source_set_label(_ source: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let source = call.source(source), let label = call.label(label) else { return }
        source.label = label
    }
}

@c @implementation
public func grun_source_copy_label(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.source(source)?.label).flatMap(copy) }
}

@c @implementation
public func grun_source_to_string(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.source(source)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.source(source) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.source(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.source(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let sourceType = Types.boxed("GRunSource")

@c @implementation public func grun_source_get_type() -> GType { sourceType }
