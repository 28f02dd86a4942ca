// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-timer.h>.

public import CGRunHeaders
import GRunLoop

/// Makes a timer's closure from a C function. If the C function returns FALSE, the closure invalidates the timer.
private func calling(
    _ function: @escaping GRunTimerFunc, _ data: gpointer?, _ notify: GDestroyNotify?
) -> @Sendable (GRunLoop.Timer) -> Void {
    let closure = Closure(function, data, notify)
    return { timer in
        if !Bool(closure.function(borrowed(timer), closure.data)) { timer.invalidate() }
    }
}

@c @implementation
public func grun_timer_new(
    _ seconds: gdouble, _ repeats: gboolean, _ function: GRunTimerFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard let span = call.seconds(seconds), let function = call.function(function) else { return nil }
        return retained(
            GRunLoop.Timer(interval: span, repeats: Bool(repeats), handler: calling(function, data, notify)))
    }
}

@c @implementation
public func grun_timer_new_at(
    _ date: gint64, _ seconds: gdouble, _ function: GRunTimerFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard let span = call.seconds(seconds), let function = call.function(function) else { return nil }
        return retained(
            GRunLoop.Timer(
                fireAt: GRunLoop.Instant(microseconds: date), interval: span, handler: calling(function, data, notify)))
    }
}

private let isTimer: StaticString = "timer != NULL"

extension Call {
    func timer(_ pointer: OpaquePointer?) -> GRunLoop.Timer? { object(pointer, isTimer) }
}

@c @implementation
public func grun_timer_ref(_ timer: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(timer, isTimer) } }

@c @implementation
public func grun_timer_unref(_ timer: OpaquePointer?) { Call.of { $0.release(timer, isTimer) } }

@c @implementation
public func grun_timer_get_next_fire_date(_ timer: OpaquePointer?) -> gint64 {
    Call.of { $0.timer(timer)?.validFireDate?.microseconds ?? -1 }
}

@c @implementation
public func grun_timer_set_next_fire_date(_ timer: OpaquePointer?, _ date: gint64) {
    Call.of { $0.timer(timer)?.fireDate = GRunLoop.Instant(microseconds: date) }
}

@c @implementation
public func grun_timer_get_interval(_ timer: OpaquePointer?) -> gdouble {
    Call.of { $0.timer(timer)?.interval.seconds ?? 0 }
}

@c @implementation
public func grun_timer_does_repeat(_ timer: OpaquePointer?) -> gboolean {
    Call.of { $0.timer(timer)?.repeats ?? false }.gboolean
}

@c @implementation
public func grun_timer_get_tolerance(_ timer: OpaquePointer?) -> gdouble {
    Call.of { $0.timer(timer)?.tolerance.seconds ?? 0 }
}

@c @implementation
public func grun_timer_set_tolerance(_ timer: OpaquePointer?, _ seconds: gdouble) {
    Call.of { call in
        guard let timer = call.timer(timer), let span = call.seconds(seconds) else { return }
        timer.tolerance = span
    }
}

@c @implementation
public func grun_timer_fire(_ timer: OpaquePointer?) { Call.of { $0.timer(timer)?.fire() } }

@c @implementation
public func grun_timer_invalidate(_ timer: OpaquePointer?) { Call.of { $0.timer(timer)?.invalidate() } }

@c @implementation
public func grun_timer_is_valid(_ timer: OpaquePointer?) -> gboolean {
    Call.of { $0.timer(timer)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_timer_set_label(_ timer: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let timer = call.timer(timer), let label = call.label(label) else { return }
        timer.label = label
    }
}

@c @implementation
public func grun_timer_copy_label(_ timer: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.timer(timer)?.label).flatMap(copy) }
}

@c @implementation
public func grun_timer_to_string(_ timer: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.timer(timer)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.timer(timer) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_timer(_ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.timer(timer) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_timer(
    _ loop: OpaquePointer?, _ timer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.timer(timer) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let timerType = Types.boxed("GRunTimer")

@c @implementation public func grun_timer_get_type() -> GType { timerType }
