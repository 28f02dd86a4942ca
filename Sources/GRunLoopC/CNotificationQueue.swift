// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-notification-queue.h>.

public import CGRunHeaders
import GRunLoop

typealias CNotification = GRunLoop.Notification<String, Bytes?>
typealias CNotificationQueue = GRunLoop.NotificationQueue<String, Bytes?>

@c @implementation
public func grun_notification_queue_new(_ loop: OpaquePointer?) -> OpaquePointer? {
    Call.of { call in call.loop(loop).map { retained(CNotificationQueue(on: $0)) } }
}

private let isQueue: StaticString = "queue != NULL"

extension Call {
    fileprivate func notificationQueue(_ pointer: OpaquePointer?) -> CNotificationQueue? { object(pointer, isQueue) }

    fileprivate func style(_ style: GRunPostingStyle) -> GRunLoop.PostingStyle? {
        let known: GRunLoop.PostingStyle? =
            switch style {
            case GRUN_POSTING_STYLE_WHEN_IDLE: .whenIdle
            case GRUN_POSTING_STYLE_ASAP: .asap
            case GRUN_POSTING_STYLE_NOW: .now
            default: nil
            }
        return required(known, "style is a GRunPostingStyle")
    }
}

private func address(_ sender: gpointer?) -> UInt { UInt(bitPattern: sender) }

@c @implementation
public func grun_notification_queue_ref(_ queue: OpaquePointer?) -> OpaquePointer? {
    Call.of { $0.retain(queue, isQueue) }
}

@c @implementation
public func grun_notification_queue_unref(_ queue: OpaquePointer?) { Call.of { $0.release(queue, isQueue) } }

@c @implementation
public func grun_notification_queue_enqueue(
    _ queue: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ sender: gpointer?, _ data: OpaquePointer?,
    _ style: GRunPostingStyle, _ coalescing: GRunCoalescing, _ modes: UnsafePointer<UnsafePointer<CChar>?>?
) -> gboolean {
    Call.of { call in
        guard let queue = call.notificationQueue(queue), let name = call.name(name),
            let style = call.style(style), let modes = modes == nil ? [.default] : call.modes(modes)
        else { return false }
        let notification = CNotification(name: name, senderAt: address(sender), payload: data.map(Bytes.init))
        return queue.enqueue(
            notification, style: style, coalescing: .init(rawValue: UInt(coalescing.rawValue)), inModes: modes)
    }.gboolean
}

@c @implementation
public func grun_notification_queue_dequeue(
    _ queue: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ sender: gpointer?, _ coalescing: GRunCoalescing
) -> guint {
    Call.of { call in
        guard let queue = call.notificationQueue(queue), let name = call.name(name) else { return 0 }
        let notification = CNotification(name: name, senderAt: address(sender), payload: nil)
        return guint(
            clamping: queue.dequeue(
                matching: notification, coalescing: .init(rawValue: UInt(coalescing.rawValue))))
    }
}

@c @implementation
public func grun_notification_queue_get_length(_ queue: OpaquePointer?) -> guint {
    Call.of { guint(clamping: $0.notificationQueue(queue)?.count ?? 0) }
}

@c @implementation
public func grun_notification_queue_add_func(
    _ queue: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ sender: gpointer?, _ function: GRunNotificationFunc?,
    _ data: gpointer?, _ notify: GDestroyNotify?
) -> guint64 {
    Call.of { call in
        guard let queue = call.notificationQueue(queue), let function = call.function(function) else { return 0 }
        var wanted: String?
        if let name {
            guard let text = call.validated(name) else { return 0 }
            wanted = text
        }
        let closure = Closure(function, data, notify)
        let number = queue.addNumberedObserver(wanted, senderAt: address(sender)) { notification in
            notification.name.withCString { name in
                let sender = gpointer(bitPattern: notification.addressOfSender)
                closure.function(name, sender, notification.payload?.pointer, closure.data)
            }
        }
        return guint64(number)
    }
}

@c @implementation
public func grun_notification_queue_remove_func(_ queue: OpaquePointer?, _ id: guint64) -> gboolean {
    Call.of { $0.notificationQueue(queue)?.removeObserver(numbered: UInt64(id)) ?? false }.gboolean
}

// MARK: Types

private let notificationQueueType = Types.boxed("GRunNotificationQueue")
private let postingStyleType = Types.enumeration(
    "GRunPostingStyle", prefix: "GRUN_POSTING_STYLE_",
    [
        (GRUN_POSTING_STYLE_WHEN_IDLE, "WHEN_IDLE"),
        (GRUN_POSTING_STYLE_ASAP, "ASAP"),
        (GRUN_POSTING_STYLE_NOW, "NOW"),
    ])
private let coalescingType = Types.flags(
    "GRunCoalescing", prefix: "GRUN_COALESCING_",
    [
        (GRUN_COALESCING_NONE, "NONE"),
        (GRUN_COALESCING_ON_NAME, "ON_NAME"),
        (GRUN_COALESCING_ON_SENDER, "ON_SENDER"),
    ])

@c @implementation public func grun_notification_queue_get_type() -> GType { notificationQueueType }
@c @implementation public func grun_posting_style_get_type() -> GType { postingStyleType }
@c @implementation public func grun_coalescing_get_type() -> GType { coalescingType }
