// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-channel.h>.

public import CGRunHeaders
import GRunLoop

private let pointerType = g_type_from_name("gpointer")

/// A message of a channel. A message has one owner at a time: the sender, the channel or the receiver.
enum Message: @unchecked Sendable {
    case pointer(gpointer?)
    /// A copy of the sender's value. The owner frees this copy with ``free()``.
    case value(UnsafeMutablePointer<GValue>)

    init(copying value: UnsafePointer<GValue>) {
        self = .value(g_boxed_copy(g_value_get_type(), value).assumingMemoryBound(to: GValue.self))
    }

    func free() {
        if case .value(let copy) = self { g_boxed_free(g_value_get_type(), copy) }
    }

    /// The message as a pointer, for a C function that becomes its owner.
    var owned: gpointer? {
        switch self {
        case .pointer(let pointer): pointer
        case .value(let copy): gpointer(copy)
        }
    }

    /// Calls a C function with the message as a value, and frees the message.
    func consume(_ function: GRunChannelValueFunc, _ data: gpointer?) {
        switch self {
        case .value(let copy): function(copy, data)
        case .pointer(let pointer):
            var value = GValue()
            g_value_set_pointer(g_value_init(&value, pointerType), pointer)
            function(&value, data)
        }
        free()
    }
}

typealias MessageChannel = GRunLoop.Channel<Message>

@c @implementation
public func grun_channel_new(_ capacity: gint64, _ undelivered: GDestroyNotify?) -> OpaquePointer? {
    Call.of { _ in
        let channel = MessageChannel(capacity: Int(capacity)) { message in
            if let undelivered { undelivered(message.owned) } else { message.free() }
        }
        return retained(channel)
    }
}

@c @implementation
public func grun_channel_new_for_values(
    _ capacity: gint64, _ undelivered: GRunChannelValueFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> OpaquePointer? {
    Call.of { _ in
        let closure = Closure(undelivered, data, notify)
        let channel = MessageChannel(capacity: Int(capacity)) { message in
            if let undelivered = closure.function { message.consume(undelivered, closure.data) } else { message.free() }
        }
        return retained(channel)
    }
}

private let isChannel: StaticString = "channel != NULL"

extension Call {
    func channel(_ pointer: OpaquePointer?) -> MessageChannel? { object(pointer, isChannel) }
}

@c @implementation
public func grun_channel_ref(_ channel: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(channel, isChannel) } }

@c @implementation
public func grun_channel_unref(_ channel: OpaquePointer?) { Call.of { $0.release(channel, isChannel) } }

extension Call {
    /// Sets the receiver of the channel. For each message, the channel calls `body`, which calls the C function.
    fileprivate func receive<Function>(
        _ channel: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: Function?,
        _ data: gpointer?, _ notify: GDestroyNotify?, _ body: @escaping @Sendable (Message, Closure<Function>) -> Void
    ) {
        guard let channel = self.channel(channel), let loop = self.loop(loop), let mode = self.mode(mode),
            let function = self.function(function)
        else { return }
        let closure = Closure(function, data, notify)
        channel.receive(on: loop, inModes: [mode]) { body($0, closure) }
    }

    fileprivate func send(_ channel: OpaquePointer?, _ message: Message) -> GRunSendResult {
        switch self.channel(channel)?.trySend(message) {
        case .enqueued: return GRUN_SEND_RESULT_ENQUEUED
        case .full: return GRUN_SEND_RESULT_FULL
        case .closed, nil: return GRUN_SEND_RESULT_CLOSED
        }
    }
}

@c @implementation
public func grun_channel_receive(
    _ channel: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunChannelFunc?,
    _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of {
        $0.receive(channel, loop, mode, function, data, notify) { message, closure in
            closure.function(message.owned, closure.data)
        }
    }
}

@c @implementation
public func grun_channel_receive_values(
    _ channel: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunChannelValueFunc?,
    _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of {
        $0.receive(channel, loop, mode, function, data, notify) { message, closure in
            message.consume(closure.function, closure.data)
        }
    }
}

@c @implementation
public func grun_channel_send(_ channel: OpaquePointer?, _ message: gpointer?) -> GRunSendResult {
    Call.of { $0.send(channel, .pointer(message)) }
}

@c @implementation
public func grun_channel_send_value(_ channel: OpaquePointer?, _ value: UnsafePointer<GValue>?) -> GRunSendResult {
    Call.of { call in
        guard call.channel(channel) != nil, call.requires(Bool(g_type_check_value(value)), "G_IS_VALUE (value)"),
            let value
        else { return GRUN_SEND_RESULT_CLOSED }
        let message = Message(copying: value)
        let result = call.send(channel, message)
        if result != GRUN_SEND_RESULT_ENQUEUED { message.free() }
        return result
    }
}

@c @implementation
public func grun_channel_close(_ channel: OpaquePointer?) { Call.of { $0.channel(channel)?.close() } }

@c @implementation
public func grun_channel_invalidate(_ channel: OpaquePointer?) { Call.of { $0.channel(channel)?.invalidate() } }

@c @implementation
public func grun_channel_is_open(_ channel: OpaquePointer?) -> gboolean {
    Call.of { $0.channel(channel)?.isOpen ?? false }.gboolean
}

@c @implementation
public func grun_channel_set_label(_ channel: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let channel = call.channel(channel), let label = call.label(label) else { return }
        channel.label = label
    }
}

@c @implementation
public func grun_channel_copy_label(_ channel: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.channel(channel)?.label).flatMap(copy) }
}

@c @implementation
public func grun_channel_get_capacity(_ channel: OpaquePointer?) -> gint64 {
    Call.of { gint64($0.channel(channel)?.capacity ?? 0) }
}

@c @implementation
public func grun_channel_get_count(_ channel: OpaquePointer?) -> gint64 {
    Call.of { gint64($0.channel(channel)?.count ?? 0) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_channel(_ loop: OpaquePointer?, _ channel: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.channel(channel) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_channel(_ loop: OpaquePointer?, _ channel: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.channel(channel) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_channel(
    _ loop: OpaquePointer?, _ channel: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.channel(channel) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Types

private let channelType = Types.boxed("GRunChannel")
private let sendResultType = Types.enumeration(
    "GRunSendResult", prefix: "GRUN_SEND_RESULT_",
    [
        (GRUN_SEND_RESULT_ENQUEUED, "ENQUEUED"),
        (GRUN_SEND_RESULT_FULL, "FULL"),
        (GRUN_SEND_RESULT_CLOSED, "CLOSED"),
    ])

@c @implementation public func grun_channel_get_type() -> GType { channelType }
@c @implementation public func grun_send_result_get_type() -> GType { sendResultType }
