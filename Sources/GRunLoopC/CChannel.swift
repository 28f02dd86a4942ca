// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-channel.h>.

public import CGRunHeaders
import GRunLoop

/// A message of a channel: a pointer of the program, which has one owner at a time.
struct Message: @unchecked Sendable {
    let pointer: gpointer?
}

typealias MessageChannel = GRunLoop.Channel<Message>

@c @implementation
public func grun_channel_new(_ capacity: gint64, _ undelivered: GDestroyNotify?) -> OpaquePointer? {
    Call.of { _ in
        guard let undelivered else { return retained(MessageChannel(capacity: Int(capacity))) }
        return retained(MessageChannel(capacity: Int(capacity), undelivered: { undelivered($0.pointer) }))
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

@c @implementation
public func grun_channel_receive(
    _ channel: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ function: GRunChannelFunc?,
    _ data: gpointer?, _ notify: GDestroyNotify?
) {
    Call.of { call in
        guard let channel = call.channel(channel), let loop = call.loop(loop), let mode = call.mode(mode),
            let function = call.function(function)
        else { return }
        let closure = Closure(function, data, notify)
        channel.receive(on: loop, inModes: [mode]) { closure.function($0.pointer, closure.data) }
    }
}

@c @implementation
public func grun_channel_send(_ channel: OpaquePointer?, _ message: gpointer?) -> GRunSendResult {
    Call.of { call in
        switch call.channel(channel)?.trySend(Message(pointer: message)) {
        case .enqueued: GRUN_SEND_RESULT_ENQUEUED
        case .full: GRUN_SEND_RESULT_FULL
        case .closed, nil: GRUN_SEND_RESULT_CLOSED
        }
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
