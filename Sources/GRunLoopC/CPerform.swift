// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-perform.h>.

public import CGRunHeaders
import GRunLoop

extension Call {
    /// Checks the arguments of a function that enqueues a C function, and passes the converted arguments to `body`.
    /// `body` makes a closure that owns the user data. If an argument is wrong, `body` is not called, and the caller
    /// still owns the data.
    fileprivate static func of<Result>(
        _ loop: OpaquePointer?, _ modes: (Call) -> [GRunLoop.Mode]?, _ function: GRunFunc?, error: ErrorPlace? = nil,
        otherwise result: Result,
        caller: StaticString = #function, _ body: (GRunLoop, [GRunLoop.Mode], @escaping GRunFunc) -> Result
    ) -> Result {
        of(caller) { call in
            guard let loop = call.loop(loop), let modes = modes(call), let function = call.function(function),
                call.error(error)
            else { return result }
            return body(loop, modes, function)
        }
    }

    fileprivate func modes(_ name: UnsafePointer<CChar>?) -> [GRunLoop.Mode]? { mode(name).map { [$0] } }
}

// MARK: Blocks

@c @implementation
public func grun_loop_perform_block(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of(loop, { $0.modes(mode) }, function, otherwise: ()) { loop, modes, function in
        let closure = Closure(function, data, notify)
        loop.perform(inModes: modes) { closure.call() }
    }
}

@c @implementation
public func grun_loop_perform_block_in_modes(
    _ loop: OpaquePointer?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of(loop, { $0.modes(modes) }, function, otherwise: ()) { loop, modes, function in
        let closure = Closure(function, data, notify)
        loop.perform(inModes: modes) { closure.call() }
    }
}

@c @implementation
public func grun_loop_post(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of(loop, { $0.modes(mode) }, function, otherwise: ()) { loop, modes, function in
        let closure = Closure(function, data, notify)
        loop.async(inModes: modes) { closure.call() }
    }
}

// MARK: Performs

@c @implementation
public func grun_loop_perform_on_thread(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.modes(mode) }, function, error: error, otherwise: false) { loop, modes, function in
        let closure = Closure(function, data, notify)
        return succeeds(error) { try loop.performOnThread(inModes: modes) { closure.call() } }
    }.gboolean
}

@c @implementation
public func grun_loop_perform_and_wait(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.modes(mode) }, function, error: error, otherwise: false) { loop, modes, function in
        let closure = Closure(function, data, nil)
        return succeeds(error) { try loop.performAndWait(inModes: modes) { closure.call() } }
    }.gboolean
}

/// If `body` throws because the loop's thread has ended, sets the `GError` and returns false.
private func succeeds(_ place: ErrorPlace?, _ body: () throws -> Void) -> Bool {
    if (try? body()) != nil { return true }
    fail(place, GRUN_ERROR_LOOP_ENDED, GRunLoop.LoopEndedError().description)
    return false
}

// grun_loop_cancel_performs() finds performs by the addresses of their data and function.
private func address(_ data: gpointer?) -> UInt { UInt(bitPattern: data) }
private func address(_ function: GRunFunc) -> UInt { UInt(bitPattern: unsafeBitCast(function, to: Int.self)) }

@c @implementation
public func grun_loop_perform_after(
    _ loop: OpaquePointer?, _ seconds: gdouble, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) -> guint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let delay = call.seconds(seconds), let mode = call.mode(mode),
            let function = call.function(function)
        else { return 0 }
        // Make the closure before the check of the thread. If the thread is wrong, the release of the closure calls
        // `notify`, which frees the data.
        let closure = Closure(function, data, notify)
        guard call.isOwnThread(loop) else { return 0 }
        let number = loop.performNumbered(
            after: delay, inModes: [mode], data: address(data), function: address(function)
        ) { closure.call() }
        return guint64(number)
    }
}

@c @implementation
public func grun_loop_cancel_perform(_ loop: OpaquePointer?, _ perform: guint64) -> gboolean {
    Call.of { call in
        guard let loop = call.ownLoop(loop) else { return false }
        return loop.cancelPerform(numbered: UInt64(perform))
    }.gboolean
}

@c @implementation
public func grun_loop_perform_with_order(
    _ loop: OpaquePointer?, _ order: gint, _ mode: UnsafePointer<CChar>?, _ function: GRunFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) {
    Call.of(loop, { $0.modes(mode) }, function, otherwise: ()) { loop, modes, function in
        let closure = Closure(function, data, notify)
        guard loop.isOnOwnThreadForC else { return }
        loop.perform(order: Int(order), inModes: modes, data: address(data), function: address(function)) {
            closure.call()
        }
    }
}

@c @implementation
public func grun_loop_cancel_performs(_ loop: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?) {
    Call.of { call in
        guard let loop = call.ownLoop(loop) else { return }
        loop.cancelPerforms(data: address(data), function: function.map(address))
    }
}
