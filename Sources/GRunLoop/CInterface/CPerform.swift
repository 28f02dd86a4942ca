// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// <grun/grun-perform.h>

public import CGRun

// MARK: Blocks

@c @implementation
public func grun_loop_perform_block(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode), let function = call.required(function, isFunction) else {
            return
        }
        let closure = Closure(function, data, notify)
        loop.perform(inModes: [mode]) { closure.call() }
    }
}

@c @implementation
public func grun_loop_perform_block_in_modes(
    _ loop: OpaquePointer?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let loop = call.loop(loop), let modes = call.modes(modes), let function = call.required(function, isFunction) else {
            return
        }
        let closure = Closure(function, data, notify)
        loop.perform(inModes: modes) { closure.call() }
    }
}

@c @implementation
public func grun_loop_async(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode), let function = call.required(function, isFunction) else {
            return
        }
        let closure = Closure(function, data, notify)
        loop.async(inModes: [mode]) { closure.call() }
    }
}

private let isFunction: StaticString = "func != NULL"

// MARK: Performs

@c @implementation
public func grun_loop_perform_on_thread(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode), let function = call.required(function, isFunction),
            call.error(error)
        else { return false }
        let closure = Closure(function, data, notify)
        return succeeds(error) { try loop.performOnThread(inModes: [mode]) { closure.call() } }
    }.gboolean
}

@c @implementation
public func grun_loop_perform_and_wait(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode), let function = call.required(function, isFunction),
            call.error(error)
        else { return false }
        let closure = Closure(function, data, nil)
        return succeeds(error) { try loop.performAndWait(inModes: [mode]) { closure.call() } }
    }.gboolean
}

/// Whether it did not throw, which it does when the loop's thread has ended; else tells C so.
private func succeeds(_ place: ErrorPlace?, _ body: () throws -> Void) -> Bool {
    if (try? body()) != nil { return true }
    fail(place, GRUN_ERROR_LOOP_ENDED, GRunLoop.LoopEnded().description)
    return false
}

/// What grun_loop_cancel_performs() finds by its function and data.
private final class PerformClosure: Closure<GRunFunc>, @unchecked Sendable {
    func isNamed(by function: GRunFunc?, _ data: gpointer?) -> Bool {
        data == self.data && (function == nil || address(function) == address(self.function))
    }

    private func address(_ function: GRunFunc?) -> UnsafeRawPointer? { unsafeBitCast(function, to: UnsafeRawPointer?.self) }
}

@c @implementation
public func grun_loop_perform_after(
    _ loop: OpaquePointer?, _ seconds: gdouble, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let loop = call.loop(loop), let delay = call.seconds(seconds), let mode = call.mode(mode),
            let function = call.required(function, isFunction)
        else { return }
        let closure = PerformClosure(function, data, notify)
        loop.perform(after: delay.duration, inModes: [mode], target: closure) { closure.call() }
    }
}

@c @implementation
public func grun_loop_perform_in_order(
    _ loop: OpaquePointer?, _ order: gint, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode), let function = call.required(function, isFunction) else {
            return
        }
        let closure = PerformClosure(function, data, notify)
        loop.perform(order: Int(order), inModes: [mode], target: closure) { closure.call() }
    }
}

@c @implementation
public func grun_loop_cancel_performs(_ loop: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?) {
    Call.of { call in
        guard let loop = call.loop(loop), call.isOwnThread(loop) else { return }
        loop.takeBack { ($0.target as? PerformClosure)?.isNamed(by: function, data) ?? false }
    }
}
