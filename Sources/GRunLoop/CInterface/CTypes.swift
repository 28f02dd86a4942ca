// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// <grun/grun-types.h>, <grun/grun-version.h>: the types as GObject knows them, errors, versions.

public import CGRun

typealias ErrorPlace = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

/// What is registered with GObject, each at its first use.
private enum Types {
    static let source = boxed("GRunSource")
    static let fdSource = boxed("GRunFdSource")
    static let timer = boxed("GRunTimer")
    static let observer = boxed("GRunObserver")
    static let thread = boxed("GRunThread")

    static let activity = registered {
        let values = [
            value(GFlagsValue.init, GRUN_ACTIVITY_ENTRY.rawValue, "GRUN_ACTIVITY_ENTRY", "entry"),
            value(GFlagsValue.init, GRUN_ACTIVITY_BEFORE_TIMERS.rawValue, "GRUN_ACTIVITY_BEFORE_TIMERS", "before-timers"),
            value(GFlagsValue.init, GRUN_ACTIVITY_BEFORE_SOURCES.rawValue, "GRUN_ACTIVITY_BEFORE_SOURCES", "before-sources"),
            value(GFlagsValue.init, GRUN_ACTIVITY_BEFORE_WAITING.rawValue, "GRUN_ACTIVITY_BEFORE_WAITING", "before-waiting"),
            value(GFlagsValue.init, GRUN_ACTIVITY_AFTER_WAITING.rawValue, "GRUN_ACTIVITY_AFTER_WAITING", "after-waiting"),
            value(GFlagsValue.init, GRUN_ACTIVITY_EXIT.rawValue, "GRUN_ACTIVITY_EXIT", "exit"),
            value(GFlagsValue.init, GRUN_ACTIVITY_ALL.rawValue, "GRUN_ACTIVITY_ALL", "all"),
        ]
        return g_flags_register_static("GRunActivity", table(values, end: GFlagsValue()))
    }

    static let result = registered {
        let values = [
            value(GEnumValue.init, gint(GRUN_RESULT_FINISHED.rawValue), "GRUN_RESULT_FINISHED", "finished"),
            value(GEnumValue.init, gint(GRUN_RESULT_STOPPED.rawValue), "GRUN_RESULT_STOPPED", "stopped"),
            value(GEnumValue.init, gint(GRUN_RESULT_TIMED_OUT.rawValue), "GRUN_RESULT_TIMED_OUT", "timed-out"),
            value(GEnumValue.init, gint(GRUN_RESULT_HANDLED_SOURCE.rawValue), "GRUN_RESULT_HANDLED_SOURCE", "handled-source"),
        ]
        return g_enum_register_static("GRunResult", table(values, end: GEnumValue()))
    }

    static let error = registered {
        let values = [
            value(GEnumValue.init, gint(GRUN_ERROR_BAD_DESCRIPTOR.rawValue), "GRUN_ERROR_BAD_DESCRIPTOR", "bad-descriptor"),
            value(GEnumValue.init, gint(GRUN_ERROR_NOT_POLLABLE.rawValue), "GRUN_ERROR_NOT_POLLABLE", "not-pollable"),
            value(GEnumValue.init, gint(GRUN_ERROR_LIMIT_REACHED.rawValue), "GRUN_ERROR_LIMIT_REACHED", "limit-reached"),
            value(GEnumValue.init, gint(GRUN_ERROR_SYSTEM.rawValue), "GRUN_ERROR_SYSTEM", "system"),
            value(GEnumValue.init, gint(GRUN_ERROR_LOOP_ENDED.rawValue), "GRUN_ERROR_LOOP_ENDED", "loop-ended"),
            value(GEnumValue.init, gint(GRUN_ERROR_NO_THREAD.rawValue), "GRUN_ERROR_NO_THREAD", "no-thread"),
        ]
        return g_enum_register_static("GRunError", table(values, end: GEnumValue()))
    }

    static let quark = g_quark_from_static_string("grun-error-quark")

    /// Only one copy of the library may register its names.
    private static func registered(_ register: () -> GType) -> GType { OneCopy.other == nil ? register() : 0 }

    private static func boxed(_ name: StaticString) -> GType { registered { Boxed.register(name) } }

    /// GObject keeps the names for ever.
    private static func value<Number, Value>(
        _ make: (Number, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Value, _ number: Number, _ name: String, _ nick: String
    ) -> Value {
        make(number, UnsafePointer(copy(name)), UnsafePointer(copy(nick)))
    }

    /// And the table.
    private static func table<Value>(_ values: [Value], end: Value) -> UnsafePointer<Value> {
        let table = UnsafeMutablePointer<Value>.allocate(capacity: values.count + 1)
        table.initialize(from: values, count: values.count)
        (table + values.count).initialize(to: end)
        return UnsafePointer(table)
    }
}

@c @implementation public func grun_loop_get_type() -> GType { OneCopy.loopType }
@c @implementation public func grun_source_get_type() -> GType { Types.source }
@c @implementation public func grun_fd_source_get_type() -> GType { Types.fdSource }
@c @implementation public func grun_timer_get_type() -> GType { Types.timer }
@c @implementation public func grun_observer_get_type() -> GType { Types.observer }
@c @implementation public func grun_thread_get_type() -> GType { Types.thread }
@c @implementation public func grun_activity_get_type() -> GType { Types.activity }
@c @implementation public func grun_result_get_type() -> GType { Types.result }
@c @implementation public func grun_error_get_type() -> GType { Types.error }
@c @implementation public func grun_error_quark() -> GQuark { Types.quark }

// MARK: Errors

/// Tells C what the environment has refused.
func fail(_ place: ErrorPlace?, _ code: GRunError, _ message: String) {
    g_set_error_literal(place, Types.quark, gint(code.rawValue), message)
}

func fail(_ place: ErrorPlace?, _ error: GRunLoop.DescriptorError) {
    let code =
        switch error {
        case .invalid: GRUN_ERROR_BAD_DESCRIPTOR
        case .notPollable: GRUN_ERROR_NOT_POLLABLE
        case .limitReached: GRUN_ERROR_LIMIT_REACHED
        case .system: GRUN_ERROR_SYSTEM
        }
    fail(place, code, error.description)
}

// MARK: Version

@c @implementation
public func grun_check_version(_ major: guint, _ minor: guint, _ micro: guint) -> UnsafePointer<CChar>? {
    let own = [guint(GRUN_MAJOR_VERSION), guint(GRUN_MINOR_VERSION), guint(GRUN_MICRO_VERSION)]
    if major != own[0] { return major > own[0] ? Version.tooOld : Version.tooNew }
    return [minor, micro].lexicographicallyPrecedes(own[1...]) || [minor, micro] == Array(own[1...]) ? nil : Version.tooOld
}

private enum Version {
    nonisolated(unsafe) static let tooOld = UnsafePointer(copy("GRunLoop is too old: another version was asked for"))
    nonisolated(unsafe) static let tooNew = UnsafePointer(copy("GRunLoop is too new: its major version is another one"))
}
