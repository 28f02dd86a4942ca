// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-loop.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopDiagnostics

// MARK: Loops

@c @implementation
public func grun_loop_get_current() -> OpaquePointer? { borrowed(GRunLoop.current) }

@c @implementation
public func grun_loop_get_main() -> OpaquePointer? { Call.of { _ in borrowed(GRunLoop.main) } }

@c @implementation
public func grun_loop_ref(_ loop: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(loop, "loop != NULL") } }

@c @implementation
public func grun_loop_unref(_ loop: OpaquePointer?) { Call.of { $0.release(loop, "loop != NULL") } }

@c @implementation
public func grun_loop_to_string(_ loop: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.loop(loop)?.description).flatMap(copy) }
}

// MARK: Running

extension GRunLoop.RunResult {
    fileprivate var result: GRunResult { GRunResult(rawValue: guint(rawValue)) }
}

@c @implementation
public func grun_loop_run(_ loop: OpaquePointer?) -> GRunResult {
    Call.of { $0.ownLoop(loop)?.run().result ?? GRUN_RESULT_FINISHED }
}

@c @implementation
public func grun_loop_run_in_mode(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ seconds: gdouble, _ returnsAfterSource: gboolean
) -> GRunResult {
    Call.of { call in
        guard let loop = call.ownLoop(loop), let mode = call.runnableMode(mode), let limit = call.seconds(seconds)
        else {
            return GRUN_RESULT_FINISHED
        }
        return loop.run(mode: mode, for: limit, returningAfterSourceHandled: Bool(returnsAfterSource)).result
    }
}

@c @implementation
public func grun_loop_run_in_mode_usec(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ microseconds: gint64, _ returnsAfterSource: gboolean
) -> GRunResult {
    Call.of { call in
        guard let loop = call.ownLoop(loop), let mode = call.runnableMode(mode) else { return GRUN_RESULT_FINISHED }
        let limit = Duration(microseconds: microseconds)
        return loop.run(mode: mode, for: limit, returningAfterSourceHandled: Bool(returnsAfterSource)).result
    }
}

@c @implementation
public func grun_loop_run_until_finished(_ loop: OpaquePointer?) {
    Call.of { $0.ownLoop(loop)?.run(until: GRunLoop.distantFuture) }
}

@c @implementation
public func grun_loop_run_until_date(_ loop: OpaquePointer?, _ limit: gint64) {
    Call.of { $0.ownLoop(loop)?.run(until: GRunLoop.Instant(microseconds: limit)) }
}

@c @implementation
public func grun_loop_run_mode_before_date(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ limit: gint64
) -> gboolean {
    Call.of { call in
        guard let loop = call.ownLoop(loop), let mode = call.runnableMode(mode) else { return false }
        return loop.run(mode: mode, before: GRunLoop.Instant(microseconds: limit))
    }.gboolean
}

@c @implementation
public func grun_loop_accept_input(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ limit: gint64) {
    Call.of { call in
        guard let loop = call.ownLoop(loop), let mode = call.runnableMode(mode) else { return }
        loop.acceptInput(forMode: mode, before: GRunLoop.Instant(microseconds: limit))
    }
}

@c @implementation
public func grun_loop_poll_limit_date(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> gint64 {
    Call.of { call in
        guard let loop = call.ownLoop(loop), let mode = call.runnableMode(mode) else { return -1 }
        return loop.limitDate(forMode: mode)?.microseconds ?? -1
    }
}

// MARK: Stopping and waking

@c @implementation
public func grun_loop_stop(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.stop() } }

@c @implementation
public func grun_loop_wake_up(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.wakeUp() } }

@c @implementation
public func grun_loop_is_waiting(_ loop: OpaquePointer?) -> gboolean {
    Call.of { $0.loop(loop)?.isWaiting ?? false }.gboolean
}

// MARK: The time slice

@c @implementation
public func grun_loop_get_time_slice(_ loop: OpaquePointer?) -> gdouble {
    Call.of { $0.loop(loop)?.timeSlice.seconds ?? 0 }
}

@c @implementation
public func grun_loop_set_time_slice(_ loop: OpaquePointer?, _ seconds: gdouble) {
    Call.of { call in
        guard let loop = call.loop(loop), let slice = call.seconds(seconds) else { return }
        loop.timeSlice = slice
    }
}

// MARK: End functions

@c @implementation
public func grun_loop_add_end_func(
    _ loop: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> guint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let function = call.function(function), call.error(error) else { return 0 }
        let closure = Closure(function, data, notify)
        if let id = try? loop.addNumberedEndHandler({ closure.call() }) { return guint64(id) }
        fail(error, GRUN_ERROR_LOOP_ENDED, GRunLoop.LoopEndedError().description)
        return 0
    }
}

@c @implementation
public func grun_loop_remove_end_func(_ loop: OpaquePointer?, _ id: guint64) -> gboolean {
    Call.of { $0.loop(loop)?.removeEndHandler(numbered: UInt64(id)) ?? false }.gboolean
}

// MARK: Tracing

@c @implementation
public func grun_loop_start_tracing(_ loop: OpaquePointer?, _ limit: guint) {
    Call.of { $0.ownLoop(loop)?.startTracing(GRunLoop.Trace(limit: Int(limit))) }
}

@c @implementation
public func grun_loop_stop_tracing(_ loop: OpaquePointer?) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    Call.of { call in
        guard let loop = call.ownLoop(loop) else { return nil }
        let lines = loop.trace?.lines ?? []
        loop.stopTracing()
        return copy(lines)
    }
}

// MARK: Types

private let resultType = Types.enumeration(
    "GRunResult", prefix: "GRUN_RESULT_",
    [
        (GRUN_RESULT_FINISHED, "FINISHED"),
        (GRUN_RESULT_STOPPED, "STOPPED"),
        (GRUN_RESULT_TIMED_OUT, "TIMED_OUT"),
        (GRUN_RESULT_HANDLED_SOURCE, "HANDLED_SOURCE"),
    ])

@c @implementation public func grun_loop_get_type() -> GType { GRunLoop.boxedType }
@c @implementation public func grun_result_get_type() -> GType { resultType }
