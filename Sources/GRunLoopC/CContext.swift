// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-context.h>.

public import CGRunHeaders
import GRunLoop

extension Call {
    fileprivate func context(_ pointer: OpaquePointer?) -> GRunLoop.Context? {
        required(pointer, "context != NULL").map { GRunLoop.Context($0) }
    }
}

@c @implementation
public func grun_loop_get_home_context(_ loop: OpaquePointer?) -> OpaquePointer? {
    // Return the context without a new reference, because the loop owns its home context.
    Call.of { $0.loop(loop)?.homeContext?.withPointer { $0 } }
}

@c @implementation
public func grun_loop_add_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.context(context) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.context(context) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_context(
    _ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.context(context) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

@c @implementation
public func grun_loop_copy_contexts(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> UnsafeMutablePointer<
    GPtrArray
>? {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode) else { return nil }
        let contexts = g_ptr_array_new_with_free_func {
            if let context = $0 { g_main_context_unref(OpaquePointer(context)) }
        }
        for context in loop.contexts(forMode: mode) {
            context.withPointer {
                g_main_context_ref($0)
                g_ptr_array_add(contexts, UnsafeMutableRawPointer($0))
            }
        }
        return contexts
    }
}
