// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// <grun/grun-loop.h>: who, running, stopping, modes, the host, tracing.

public import CGRun

// MARK: Who

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
    Call.of { $0.loop(loop)?.runUntilStopped().result ?? GRUN_RESULT_FINISHED }
}

@c @implementation
public func grun_loop_run_in_mode(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ seconds: gdouble, _ returnsAfterSource: gboolean
) -> GRunResult {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode), let limit = call.seconds(seconds) else {
            return GRUN_RESULT_FINISHED
        }
        return loop.run(mode: mode, for: limit.duration, returningAfterSourceHandled: Bool(returnsAfterSource)).result
    }
}

@c @implementation
public func grun_loop_run_in_mode_usec(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ microseconds: gint64, _ returnsAfterSource: gboolean
) -> GRunResult {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode) else { return GRUN_RESULT_FINISHED }
        let limit = Nanoseconds(microseconds: microseconds).duration
        return loop.run(mode: mode, for: limit, returningAfterSourceHandled: Bool(returnsAfterSource)).result
    }
}

@c @implementation
public func grun_loop_run_until_finished(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.run() } }

@c @implementation
public func grun_loop_run_until_date(_ loop: OpaquePointer?, _ limit: gint64) {
    Call.of { $0.loop(loop)?.run(until: GRunLoop.Instant(microseconds: limit)) }
}

@c @implementation
public func grun_loop_run_mode_before_date(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ limit: gint64
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode) else { return false }
        return loop.run(mode: mode, before: GRunLoop.Instant(microseconds: limit))
    }.gboolean
}

@c @implementation
public func grun_loop_accept_input(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ limit: gint64) {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode) else { return }
        loop.acceptInput(forMode: mode, before: GRunLoop.Instant(microseconds: limit))
    }
}

@c @implementation
public func grun_loop_get_limit_date(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> gint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode) else { return -1 }
        return loop.limitDate(forMode: mode)?.microseconds ?? -1
    }
}

// MARK: Stopping and waking

@c @implementation
public func grun_loop_stop(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.stop() } }

@c @implementation
public func grun_loop_wake_up(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.wakeUp() } }

@c @implementation
public func grun_loop_is_waiting(_ loop: OpaquePointer?) -> gboolean { Call.of { $0.loop(loop)?.isWaiting ?? false }.gboolean }

// MARK: Modes

@c @implementation
public func grun_loop_copy_current_mode(_ loop: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.loop(loop)?.currentMode?.rawValue).flatMap(copy) }
}

@c @implementation
public func grun_loop_copy_all_modes(_ loop: OpaquePointer?) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    Call.of { ($0.loop(loop)?.allModes.map(\.rawValue)).flatMap(copy) }
}

@c @implementation
public func grun_loop_add_common_mode(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode), call.error(error) else { return false }
        return succeeds(error) { () throws(GRunLoop.DescriptorError) in try loop.addCommonMode(mode) }
    }.gboolean
}

/// Whether it did not throw; else tells C why.
func succeeds(_ place: ErrorPlace?, _ body: () throws(GRunLoop.DescriptorError) -> Void) -> Bool {
    do throws(GRunLoop.DescriptorError) {
        try body()
        return true
    } catch {
        fail(place, error)
        return false
    }
}

@c @implementation
public func grun_loop_get_next_timer_fire_date(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> gint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode) else { return -1 }
        return loop.nextFireDate(forMode: mode)?.microseconds ?? -1
    }
}

// MARK: While a host drives

@c @implementation
public func grun_loop_copy_ambient_mode(_ loop: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.loop(loop)?.ambientMode.rawValue).flatMap(copy) }
}

@c @implementation
public func grun_loop_push_ambient_mode(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> guint {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode), call.error(error), call.isOwnThread(loop) else {
            return 0
        }
        var id: guint = 0
        _ = succeeds(error) { () throws(GRunLoop.DescriptorError) in id = try loop.push(ambientMode: mode).id }
        return id
    }
}

@c @implementation
public func grun_loop_pop_ambient_mode(_ loop: OpaquePointer?, _ id: guint) {
    Call.of { call in
        guard let loop = call.loop(loop), call.isOwnThread(loop),
            let token = call.required(loop.pushedAmbientMode(id), "the mode with this id is pushed")
        else { return }
        token.pop()
    }
}

@c @implementation
public func grun_loop_detach(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.detach() } }

@c @implementation
public func grun_loop_attach(_ loop: OpaquePointer?) { Call.of { $0.loop(loop)?.attach() } }

@c @implementation
public func grun_loop_get_host_time_slice(_ loop: OpaquePointer?) -> gdouble {
    Call.of { ($0.loop(loop)?.hostTimeSlice).map { Nanoseconds(saturating: $0).seconds } ?? 0 }
}

@c @implementation
public func grun_loop_set_host_time_slice(_ loop: OpaquePointer?, _ seconds: gdouble) {
    Call.of { call in
        guard let loop = call.loop(loop), let slice = call.seconds(seconds) else { return }
        loop.hostTimeSlice = slice.duration
    }
}

// MARK: Tracing

@c @implementation
public func grun_loop_start_tracing(_ loop: OpaquePointer?, _ limit: guint) {
    Call.of { $0.loop(loop)?.startTracing(GRunLoop.Trace(limit: Int(limit))) }
}

@c @implementation
public func grun_loop_stop_tracing(_ loop: OpaquePointer?) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    Call.of { call in
        guard let loop = call.loop(loop), call.isOwnThread(loop) else { return nil }
        let lines = loop.tracer?.lines ?? []
        loop.stopTracing()
        return copy(lines)
    }
}
