// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-fd-source.h>.

public import CGRunHeaders
import GRunLoop

extension GRunLoop.DescriptorSource.Conditions {
    fileprivate var condition: GIOCondition { GIOCondition(rawValue: rawValue) }
}

@c @implementation
public func grun_fd_source_new(
    _ descriptor: gint, _ condition: GIOCondition, _ function: GRunFdSourceFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard call.requires(descriptor >= 0, "fd >= 0"), let function = call.function(function) else { return nil }
        let closure = Closure(function, data, notify)
        return retained(
            GRunLoop.DescriptorSource(descriptor: descriptor, conditions: .init(rawValue: condition.rawValue)) {
                source, found in
                if !Bool(closure.function(borrowed(source), found.condition, closure.data)) { source.invalidate() }
            })
    }
}

private let isSource: StaticString = "source != NULL"

extension Call {
    func fdSource(_ pointer: OpaquePointer?) -> GRunLoop.DescriptorSource? { object(pointer, isSource) }
}

@c @implementation
public func grun_fd_source_ref(_ source: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(source, isSource) } }

@c @implementation
public func grun_fd_source_unref(_ source: OpaquePointer?) { Call.of { $0.release(source, isSource) } }

@c @implementation
public func grun_fd_source_get_fd(_ source: OpaquePointer?) -> gint {
    Call.of { $0.fdSource(source)?.descriptor ?? -1 }
}

@c @implementation
public func grun_fd_source_get_condition(_ source: OpaquePointer?) -> GIOCondition {
    Call.of { $0.fdSource(source)?.conditions.condition ?? GIOCondition(rawValue: 0) }
}

@c @implementation
public func grun_fd_source_set_condition(_ source: OpaquePointer?, _ condition: GIOCondition) {
    Call.of { $0.fdSource(source)?.conditions = .init(rawValue: condition.rawValue) }
}

@c @implementation
public func grun_fd_source_invalidate(_ source: OpaquePointer?) { Call.of { $0.fdSource(source)?.invalidate() } }

@c @implementation
public func grun_fd_source_is_valid(_ source: OpaquePointer?) -> gboolean {
    Call.of { $0.fdSource(source)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_fd_source_set_label(_ source: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let source = call.fdSource(source), let label = call.label(label) else { return }
        source.label = label
    }
}

@c @implementation
public func grun_fd_source_copy_label(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.fdSource(source)?.label).flatMap(copy) }
}

@c @implementation
public func grun_fd_source_to_string(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.fdSource(source)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.fdSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        adds(source, to: loop, mode, error)
    }.gboolean
}

@c @implementation
public func grun_loop_remove_fd_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?)
{
    Call.of(loop, { $0.fdSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.fdSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let fdSourceType = Types.boxed("GRunFdSource")

@c @implementation public func grun_fd_source_get_type() -> GType { fdSourceType }
