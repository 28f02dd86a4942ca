// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-observer.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_observer_new(
    _ activities: GRunActivity, _ repeats: gboolean, _ order: gint, _ function: GRunObserverFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { call in
        guard let function = call.function(function) else { return nil }
        let closure = Closure(function, data, notify)
        return retained(
            GRunLoop.Observer(
                activities: .init(rawValue: UInt(activities.rawValue)), repeats: Bool(repeats), order: Int(order)
            ) { observer, activity in
                let stage = GRunActivity(rawValue: guint(activity.rawValue))
                if !Bool(closure.function(borrowed(observer), stage, closure.data)) { observer.invalidate() }
            })
    }
}

private let isObserver: StaticString = "observer != NULL"

extension Call {
    func observer(_ pointer: OpaquePointer?) -> GRunLoop.Observer? { object(pointer, isObserver) }
}

@c @implementation
public func grun_observer_ref(_ observer: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(observer, isObserver) }
}

@c @implementation
public func grun_observer_unref(_ observer: OpaquePointer?) { Call.of { $0.release(observer, isObserver) } }

@c @implementation
public func grun_observer_get_activities(_ observer: OpaquePointer?) -> GRunActivity {
    Call.of { GRunActivity(rawValue: guint($0.observer(observer)?.activities.rawValue ?? 0)) }
}

@c @implementation
public func grun_observer_does_repeat(_ observer: OpaquePointer?) -> gboolean {
    Call.of { $0.observer(observer)?.repeats ?? false }.gboolean
}

@c @implementation
public func grun_observer_get_order(_ observer: OpaquePointer?) -> gint {
    Call.of { gint($0.observer(observer)?.order ?? 0) }
}

@c @implementation
public func grun_observer_invalidate(_ observer: OpaquePointer?) { Call.of { $0.observer(observer)?.invalidate() } }

@c @implementation
public func grun_observer_is_valid(_ observer: OpaquePointer?) -> gboolean {
    Call.of { $0.observer(observer)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_observer_set_label(_ observer: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let observer = call.observer(observer), let label = call.label(label) else { return }
        observer.label = label
    }
}

@c @implementation
public func grun_observer_copy_label(_ observer: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.observer(observer)?.label).flatMap(copy) }
}

@c @implementation
public func grun_observer_to_string(_ observer: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.observer(observer)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.observer(observer) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_observer(_ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?)
{
    Call.of(loop, { $0.observer(observer) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_observer(
    _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.observer(observer) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Types

private let observerType = Types.boxed("GRunObserver")
private let activityType = Types.flags(
    "GRunActivity", prefix: "GRUN_ACTIVITY_",
    [
        (GRUN_ACTIVITY_ENTRY, "ENTRY"),
        (GRUN_ACTIVITY_BEFORE_TIMERS, "BEFORE_TIMERS"),
        (GRUN_ACTIVITY_BEFORE_SOURCES, "BEFORE_SOURCES"),
        (GRUN_ACTIVITY_BEFORE_WAITING, "BEFORE_WAITING"),
        (GRUN_ACTIVITY_AFTER_WAITING, "AFTER_WAITING"),
        (GRUN_ACTIVITY_EXIT, "EXIT"),
        (GRUN_ACTIVITY_ALL, "ALL"),
    ])

@c @implementation public func grun_observer_get_type() -> GType { observerType }
@c @implementation public func grun_activity_get_type() -> GType { activityType }
