// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-child-source.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_child_source_new(
    _ pid: gint, _ function: GRunChildSourceFunc?, _ data: gpointer?, _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let function = call.function(function), call.error(error) else { return nil }
        let closure = Closure(function, data, notify)
        do throws(GRunLoop.SystemError) {
            return retained(
                try GRunLoop.ChildSource(pid: pid) { source, outcome in
                    switch outcome {
                    case .success(let status):
                        closure.function(borrowed(source), status.waitStatus, nil, closure.data)
                    case .failure(let failure):
                        var lost: UnsafeMutablePointer<GError>?
                        fail(&lost, failure)
                        closure.function(borrowed(source), -1, lost, closure.data)
                        g_clear_error(&lost)
                    }
                })
        } catch let failure {
            fail(error, failure)
            return nil
        }
    }
}

private let isSource: StaticString = "source != NULL"

extension Call {
    func childSource(_ pointer: OpaquePointer?) -> GRunLoop.ChildSource? { object(pointer, isSource) }
}

@c @implementation
public func grun_child_source_ref(_ source: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(source, isSource) }
}

@c @implementation
public func grun_child_source_unref(_ source: OpaquePointer?) { Call.of { $0.release(source, isSource) } }

@c @implementation
public func grun_child_source_get_pid(_ source: OpaquePointer?) -> gint {
    Call.of { $0.childSource(source)?.pid ?? -1 }
}

@c @implementation
public func grun_child_source_invalidate(_ source: OpaquePointer?) { Call.of { $0.childSource(source)?.invalidate() } }

@c @implementation
public func grun_child_source_is_valid(_ source: OpaquePointer?) -> gboolean {
    Call.of { $0.childSource(source)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_child_source_set_label(_ source: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let source = call.childSource(source), let label = call.label(label) else { return }
        source.label = label
    }
}

@c @implementation
public func grun_child_source_copy_label(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.childSource(source)?.label).flatMap(copy) }
}

@c @implementation
public func grun_child_source_to_string(_ source: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.childSource(source)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.childSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        adds(source, to: loop, mode, error)
    }.gboolean
}

@c @implementation
public func grun_loop_remove_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.childSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.childSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let childSourceType = Types.boxed("GRunChildSource")

@c @implementation public func grun_child_source_get_type() -> GType { childSourceType }
