// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// <grun/grun-loop.h>: items and contexts, which come into modes and go.

public import CGRun

/// Carries out a function of a loop, something that can be in its modes, and a mode.
private func with<Item, Result>(
    _ loop: OpaquePointer?, _ item: (Call) -> Item?, _ mode: UnsafePointer<CChar>?, otherwise result: Result,
    function: StaticString = #function, _ body: (GRunLoop, Item, GRunLoop.Mode) -> Result
) -> Result {
    Call.of(function) { call in
        guard let loop = call.loop(loop), let item = item(call), let mode = call.mode(mode) else { return result }
        return body(loop, item, mode)
    }
}

// MARK: Sources

@c @implementation
public func grun_loop_add_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.source(source) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.source(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    with(loop, { $0.source(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Descriptor sources

@c @implementation
public func grun_loop_add_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    with(loop, { $0.error(error) ? $0.fdSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        succeeds(error) { () throws(GRunLoop.DescriptorError) in try loop.add(source, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_fd_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.fdSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    with(loop, { $0.fdSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Timers

@c @implementation
public func grun_loop_add_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.timer(timer) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.timer(timer) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_timer(
    _ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    with(loop, { $0.timer(timer) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Observers

@c @implementation
public func grun_loop_add_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.observer(observer) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.observer(observer) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_observer(
    _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    with(loop, { $0.observer(observer) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Contexts

extension Call {
    fileprivate func context(_ pointer: OpaquePointer?) -> OpaquePointer? { required(pointer, "context != NULL") }
}

@c @implementation
public func grun_loop_get_home_context(_ loop: OpaquePointer?) -> OpaquePointer? { Call.of { $0.loop(loop)?.homeContext } }

@c @implementation
public func grun_loop_add_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.context(context) }, mode, otherwise: ()) { $0.add(context: $1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    with(loop, { $0.context(context) }, mode, otherwise: ()) { $0.remove(context: $1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_context(
    _ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    with(loop, { $0.context(context) }, mode, otherwise: false) { $0.contains(context: $1, forMode: $2) }.gboolean
}

@c @implementation
public func grun_loop_copy_contexts(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> UnsafeMutablePointer<GPtrArray>? {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode) else { return nil }
        let contexts = g_ptr_array_new_with_free_func { if let context = $0 { Contexts.release(OpaquePointer(context)) } }
        for context in loop.contexts(forMode: mode) {
            Contexts.retain(context)
            g_ptr_array_add(contexts, UnsafeMutableRawPointer(context))
        }
        return contexts
    }
}
