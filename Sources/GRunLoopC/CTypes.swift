// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-types.h> and <grun/grun-version.h>: GObject types, errors, versions.

public import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

typealias ErrorPlace = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

/// The types that are registered with GObject, and the error domains. Each is made at its first use.
private enum Types {
    static let source = boxed("GRunSource")
    static let fdSource = boxed("GRunFdSource")
    static let signalSource = boxed("GRunSignalSource")
    static let childSource = boxed("GRunChildSource")
    static let timer = boxed("GRunTimer")
    static let observer = boxed("GRunObserver")
    static let idleQueue = boxed("GRunIdleQueue")
    static let channel = boxed("GRunChannel")
    static let notificationQueue = boxed("GRunNotificationQueue")
    static let port = boxed("GRunPort")
    static let portMessage = boxed("GRunPortMessage")
    static let messagePort = boxed("GRunMessagePort")
    static let remoteMessagePort = boxed("GRunRemoteMessagePort")
    static let message = boxed("GRunMessage")
    static let thread = boxed("GRunThread")

    static let activity = registered {
        g_flags_register_static(
            "GRunActivity",
            table(
                "GRUN_ACTIVITY_", activities.map { ($0.rawValue, $1) }, GFlagsValue.init(value:value_name:value_nick:)))
    }

    static let result = registered {
        g_enum_register_static(
            "GRunResult",
            table(
                "GRUN_RESULT_", results.map { (gint($0.rawValue), $1) }, GEnumValue.init(value:value_name:value_nick:)))
    }

    static let sendResult = registered {
        g_enum_register_static(
            "GRunSendResult",
            table(
                "GRUN_SEND_RESULT_", sendResults.map { (gint($0.rawValue), $1) },
                GEnumValue.init(value:value_name:value_nick:)))
    }

    static let postingStyle = registered {
        g_enum_register_static(
            "GRunPostingStyle",
            table(
                "GRUN_POSTING_STYLE_", postingStyles.map { (gint($0.rawValue), $1) },
                GEnumValue.init(value:value_name:value_nick:)))
    }

    static let coalescing = registered {
        g_flags_register_static(
            "GRunCoalescing",
            table(
                "GRUN_COALESCING_", coalescings.map { ($0.rawValue, $1) },
                GFlagsValue.init(value:value_name:value_nick:)))
    }

    static let error = registered {
        g_enum_register_static(
            "GRunError",
            table("GRUN_ERROR_", errors.map { (gint($0.rawValue), $1) }, GEnumValue.init(value:value_name:value_nick:))
        )
    }

    static let messageRequestError = registered {
        g_enum_register_static(
            "GRunMessageRequestError",
            table(
                "GRUN_MESSAGE_REQUEST_ERROR_", messageRequestErrors.map { (gint($0.rawValue), $1) },
                GEnumValue.init(value:value_name:value_nick:)))
    }

    private static var activities: [(GRunActivity, String)] {
        [
            (GRUN_ACTIVITY_ENTRY, "GRUN_ACTIVITY_ENTRY"), (GRUN_ACTIVITY_BEFORE_TIMERS, "GRUN_ACTIVITY_BEFORE_TIMERS"),
            (GRUN_ACTIVITY_BEFORE_SOURCES, "GRUN_ACTIVITY_BEFORE_SOURCES"),
            (GRUN_ACTIVITY_BEFORE_WAITING, "GRUN_ACTIVITY_BEFORE_WAITING"),
            (GRUN_ACTIVITY_AFTER_WAITING, "GRUN_ACTIVITY_AFTER_WAITING"), (GRUN_ACTIVITY_EXIT, "GRUN_ACTIVITY_EXIT"),
            (GRUN_ACTIVITY_ALL, "GRUN_ACTIVITY_ALL"),
        ]
    }

    private static var results: [(GRunResult, String)] {
        [
            (GRUN_RESULT_FINISHED, "GRUN_RESULT_FINISHED"), (GRUN_RESULT_STOPPED, "GRUN_RESULT_STOPPED"),
            (GRUN_RESULT_TIMED_OUT, "GRUN_RESULT_TIMED_OUT"),
            (GRUN_RESULT_HANDLED_SOURCE, "GRUN_RESULT_HANDLED_SOURCE"),
        ]
    }

    private static var sendResults: [(GRunSendResult, String)] {
        [
            (GRUN_SEND_RESULT_ENQUEUED, "GRUN_SEND_RESULT_ENQUEUED"),
            (GRUN_SEND_RESULT_FULL, "GRUN_SEND_RESULT_FULL"), (GRUN_SEND_RESULT_CLOSED, "GRUN_SEND_RESULT_CLOSED"),
        ]
    }

    private static var postingStyles: [(GRunPostingStyle, String)] {
        [
            (GRUN_POSTING_STYLE_WHEN_IDLE, "GRUN_POSTING_STYLE_WHEN_IDLE"),
            (GRUN_POSTING_STYLE_ASAP, "GRUN_POSTING_STYLE_ASAP"), (GRUN_POSTING_STYLE_NOW, "GRUN_POSTING_STYLE_NOW"),
        ]
    }

    private static var coalescings: [(GRunCoalescing, String)] {
        [
            (GRUN_COALESCING_NONE, "GRUN_COALESCING_NONE"), (GRUN_COALESCING_ON_NAME, "GRUN_COALESCING_ON_NAME"),
            (GRUN_COALESCING_ON_SENDER, "GRUN_COALESCING_ON_SENDER"),
        ]
    }

    private static var errors: [(GRunError, String)] {
        [
            (GRUN_ERROR_BAD_DESCRIPTOR, "GRUN_ERROR_BAD_DESCRIPTOR"),
            (GRUN_ERROR_NOT_POLLABLE, "GRUN_ERROR_NOT_POLLABLE"),
            (GRUN_ERROR_LIMIT_REACHED, "GRUN_ERROR_LIMIT_REACHED"), (GRUN_ERROR_SYSTEM, "GRUN_ERROR_SYSTEM"),
            (GRUN_ERROR_LOOP_ENDED, "GRUN_ERROR_LOOP_ENDED"), (GRUN_ERROR_NO_THREAD, "GRUN_ERROR_NO_THREAD"),
            (GRUN_ERROR_SIGNAL_REFUSED, "GRUN_ERROR_SIGNAL_REFUSED"),
            (GRUN_ERROR_SIGNAL_HANDLED, "GRUN_ERROR_SIGNAL_HANDLED"),
            (GRUN_ERROR_NOT_A_CHILD, "GRUN_ERROR_NOT_A_CHILD"),
            (GRUN_ERROR_STATUS_LOST, "GRUN_ERROR_STATUS_LOST"),
            (GRUN_ERROR_NOT_SUPPORTED, "GRUN_ERROR_NOT_SUPPORTED"),
            (GRUN_ERROR_INVALID_NAME, "GRUN_ERROR_INVALID_NAME"),
            (GRUN_ERROR_NAME_TAKEN, "GRUN_ERROR_NAME_TAKEN"), (GRUN_ERROR_NOT_FOUND, "GRUN_ERROR_NOT_FOUND"),
            (GRUN_ERROR_NO_RUNTIME_DIRECTORY, "GRUN_ERROR_NO_RUNTIME_DIRECTORY"),
            (GRUN_ERROR_UNSAFE_DIRECTORY, "GRUN_ERROR_UNSAFE_DIRECTORY"),
            (GRUN_ERROR_NOT_PERMITTED, "GRUN_ERROR_NOT_PERMITTED"),
            (GRUN_ERROR_INVALID_PORT, "GRUN_ERROR_INVALID_PORT"),
            (GRUN_ERROR_UNKNOWN_USERS, "GRUN_ERROR_UNKNOWN_USERS"),
        ]
    }

    private static var messageRequestErrors: [(GRunMessageRequestError, String)] {
        [
            (GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT, "GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT"),
            (GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT, "GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT"),
            (GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, "GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID"),
            (GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR, "GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR"),
            (GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, "GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID"),
            (GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED, "GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED"),
            (GRUN_MESSAGE_REQUEST_ERROR_CANCELLED, "GRUN_MESSAGE_REQUEST_ERROR_CANCELLED"),
            (GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED, "GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED"),
        ]
    }

    static let quark = g_quark_from_string("grun-error-quark")
    static let messageRequestQuark = g_quark_from_string("grun-message-request-error-quark")

    /// Registers a type; returns 0 in a second copy of the library, because only one copy may register these names.
    private static func registered(_ register: () -> GType) -> GType { GRunLoop.boxedType == 0 ? 0 : register() }

    private static func boxed(_ name: String) -> GType { registered { GRunLoop.registerBoxedType(named: name) } }

    /// Makes a table of values for GObject, which ends with an entry of zeros. GObject keeps the table and its strings
    /// forever. A value's nick is its name without the prefix, in lower case, with `-` instead of `_`.
    private static func table<Number, Value>(
        _ prefix: String, _ values: [(Number, String)],
        _ make: (Number, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Value
    ) -> UnsafePointer<Value>? {
        let memory = g_malloc0_n(gsize(values.count + 1), gsize(MemoryLayout<Value>.stride))
        guard let table = memory?.bindMemory(to: Value.self, capacity: values.count + 1) else { return nil }
        for (index, (number, name)) in values.enumerated() {
            let nick = name.dropFirst(prefix.count).lowercased().map { $0 == "_" ? "-" : $0 }
            (table + index).initialize(to: make(number, copy(name), copy(String(nick))))
        }
        return UnsafePointer(table)
    }
}

@c @implementation public func grun_loop_get_type() -> GType { GRunLoop.boxedType }
@c @implementation public func grun_source_get_type() -> GType { Types.source }
@c @implementation public func grun_fd_source_get_type() -> GType { Types.fdSource }
@c @implementation public func grun_signal_source_get_type() -> GType { Types.signalSource }
@c @implementation public func grun_child_source_get_type() -> GType { Types.childSource }
@c @implementation public func grun_timer_get_type() -> GType { Types.timer }
@c @implementation public func grun_observer_get_type() -> GType { Types.observer }
@c @implementation public func grun_idle_queue_get_type() -> GType { Types.idleQueue }
@c @implementation public func grun_channel_get_type() -> GType { Types.channel }
@c @implementation public func grun_notification_queue_get_type() -> GType { Types.notificationQueue }
@c @implementation public func grun_port_get_type() -> GType { Types.port }
@c @implementation public func grun_port_message_get_type() -> GType { Types.portMessage }
@c @implementation public func grun_message_port_get_type() -> GType { Types.messagePort }
@c @implementation public func grun_remote_message_port_get_type() -> GType { Types.remoteMessagePort }
@c @implementation public func grun_message_get_type() -> GType { Types.message }
@c @implementation public func grun_thread_get_type() -> GType { Types.thread }
@c @implementation public func grun_activity_get_type() -> GType { Types.activity }
@c @implementation public func grun_result_get_type() -> GType { Types.result }
@c @implementation public func grun_send_result_get_type() -> GType { Types.sendResult }
@c @implementation public func grun_posting_style_get_type() -> GType { Types.postingStyle }
@c @implementation public func grun_coalescing_get_type() -> GType { Types.coalescing }
@c @implementation public func grun_error_get_type() -> GType { Types.error }
@c @implementation public func grun_error_quark() -> GQuark { Types.quark }
@c @implementation public func grun_message_request_error_get_type() -> GType { Types.messageRequestError }
@c @implementation public func grun_message_request_error_quark() -> GQuark { Types.messageRequestQuark }

// MARK: Errors

/// Sets a `GError` of the domain GRUN_ERROR: the environment has refused something.
func fail(_ place: ErrorPlace?, _ code: GRunError, _ message: String) {
    g_set_error_literal(place, Types.quark, gint(code.rawValue), message)
}

func fail(_ place: ErrorPlace?, _ error: GRunLoop.SystemError) {
    let code =
        switch error {
        case .notOpen: GRUN_ERROR_BAD_DESCRIPTOR
        case .notPollable: GRUN_ERROR_NOT_POLLABLE
        case .signalRefused: GRUN_ERROR_SIGNAL_REFUSED
        case .signalHandled: GRUN_ERROR_SIGNAL_HANDLED
        case .notAChild: GRUN_ERROR_NOT_A_CHILD
        case .statusLost: GRUN_ERROR_STATUS_LOST
        case .limitReached(EAGAIN): GRUN_ERROR_NO_THREAD
        case .limitReached: GRUN_ERROR_LIMIT_REACHED
        case .forbidden, .unsupported, .forked: GRUN_ERROR_NOT_SUPPORTED
        case .failed: GRUN_ERROR_SYSTEM
        }
    fail(place, code, error.description)
}

/// Sets a `GError` that says why a message, a request or a reply failed. `GRunMessageRequestError` has the same numbers
/// as the Swift error.
func fail(_ place: ErrorPlace?, _ error: GRunLoop.MessageRequestError, _ message: String? = nil) {
    g_set_error_literal(place, Types.messageRequestQuark, gint(error.code), message ?? error.description)
}

/// Runs `body`. Returns true if it does not throw; otherwise sets the `GError` and returns false.
func succeeds(_ place: ErrorPlace?, _ body: () throws(GRunLoop.SystemError) -> Void) -> Bool {
    do throws(GRunLoop.SystemError) {
        try body()
        return true
    } catch {
        fail(place, error)
        return false
    }
}

// MARK: Version

@c @implementation
public func grun_check_version(_ major: guint, _ minor: guint, _ micro: guint) -> UnsafePointer<CChar>? {
    if major < GRUN_MAJOR_VERSION { return Version.tooNew }
    return (major, minor, micro) <= (guint(GRUN_MAJOR_VERSION), guint(GRUN_MINOR_VERSION), guint(GRUN_MICRO_VERSION))
        ? nil : Version.tooOld
}

private enum Version {
    private static let text = "GRunLoop \(GRUN_MAJOR_VERSION).\(GRUN_MINOR_VERSION).\(GRUN_MICRO_VERSION)"
    nonisolated(unsafe) static let tooOld = UnsafePointer(copy("\(text) is older than the version that is needed"))
    nonisolated(unsafe) static let tooNew = UnsafePointer(copy("\(text) has another major version than is needed"))
}
