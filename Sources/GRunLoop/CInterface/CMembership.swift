// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// <grun/grun-loop.h>: items and contexts, which come into modes and go.

public import CGRun

@c @implementation
public func grun_loop_add_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.source(source), let mode = call.mode(mode) else { return }
        loop.add(source, forMode: mode)
    }
}

@c @implementation
public func grun_loop_remove_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.source(source), let mode = call.mode(mode) else { return }
        loop.remove(source, forMode: mode)
    }
}

@c @implementation
public func grun_loop_contains_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.source(source), let mode = call.mode(mode) else { return false }
        return loop.contains(source, forMode: mode)
    }.gboolean
}

@c @implementation
public func grun_loop_add_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.fdSource(source), let mode = call.mode(mode), call.error(error) else {
            return false
        }
        return succeeds(error) { () throws(GRunLoop.DescriptorError) in try loop.add(source, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_fd_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.fdSource(source), let mode = call.mode(mode) else { return }
        loop.remove(source, forMode: mode)
    }
}

@c @implementation
public func grun_loop_contains_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let source = call.fdSource(source), let mode = call.mode(mode) else { return false }
        return loop.contains(source, forMode: mode)
    }.gboolean
}

@c @implementation
public func grun_loop_add_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let timer = call.timer(timer), let mode = call.mode(mode) else { return }
        loop.add(timer, forMode: mode)
    }
}

@c @implementation
public func grun_loop_remove_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let timer = call.timer(timer), let mode = call.mode(mode) else { return }
        loop.remove(timer, forMode: mode)
    }
}

@c @implementation
public func grun_loop_contains_timer(
    _ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let timer = call.timer(timer), let mode = call.mode(mode) else { return false }
        return loop.contains(timer, forMode: mode)
    }.gboolean
}

@c @implementation
public func grun_loop_add_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let observer = call.observer(observer), let mode = call.mode(mode) else { return }
        loop.add(observer, forMode: mode)
    }
}

@c @implementation
public func grun_loop_remove_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let observer = call.observer(observer), let mode = call.mode(mode) else { return }
        loop.remove(observer, forMode: mode)
    }
}

@c @implementation
public func grun_loop_contains_observer(
    _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let observer = call.observer(observer), let mode = call.mode(mode) else { return false }
        return loop.contains(observer, forMode: mode)
    }.gboolean
}

// MARK: Contexts

private let isContext: StaticString = "context != NULL"

@c @implementation
public func grun_loop_get_home_context(_ loop: OpaquePointer?) -> OpaquePointer? { Call.of { $0.loop(loop)?.homeContext } }

@c @implementation
public func grun_loop_add_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let context = call.required(context, isContext), let mode = call.mode(mode) else {
            return
        }
        loop.add(context: context, forMode: mode)
    }
}

@c @implementation
public func grun_loop_remove_context(_ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let context = call.required(context, isContext), let mode = call.mode(mode) else {
            return
        }
        loop.remove(context: context, forMode: mode)
    }
}

@c @implementation
public func grun_loop_contains_context(
    _ loop: OpaquePointer?, _ context: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let context = call.required(context, isContext), let mode = call.mode(mode) else {
            return false
        }
        return loop.contains(context: context, forMode: mode)
    }.gboolean
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
