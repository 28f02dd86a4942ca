// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-idle-queue.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_idle_queue_new(_ seconds: gdouble) -> OpaquePointer? {
    Call.of { call in call.seconds(seconds).map { retained(GRunLoop.IdleQueue(timePerPass: $0)) } }
}

private let isQueue: StaticString = "queue != NULL"

extension Call {
    func idleQueue(_ pointer: OpaquePointer?) -> GRunLoop.IdleQueue? { object(pointer, isQueue) }
}

@c @implementation
public func grun_idle_queue_ref(_ queue: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(queue, isQueue) } }

@c @implementation
public func grun_idle_queue_unref(_ queue: OpaquePointer?) { Call.of { $0.release(queue, isQueue) } }

@c @implementation
public func grun_idle_queue_get_time_per_pass(_ queue: OpaquePointer?) -> gdouble {
    Call.of { $0.idleQueue(queue)?.timePerPass.seconds ?? 0 }
}

@c @implementation
public func grun_idle_queue_enqueue(
    _ queue: OpaquePointer?, _ function: GRunFunc?, _ data: gpointer?, _ notify: GDestroyNotify?
) -> gboolean {
    Call.of { call in
        guard let queue = call.idleQueue(queue), let function = call.function(function) else { return false }
        let closure = Closure(function, data, notify)
        return queue.enqueue { closure.call() }
    }.gboolean
}

@c @implementation
public func grun_idle_queue_get_length(_ queue: OpaquePointer?) -> guint {
    Call.of { guint(clamping: $0.idleQueue(queue)?.count ?? 0) }
}

@c @implementation
public func grun_idle_queue_remove_all(_ queue: OpaquePointer?) { Call.of { $0.idleQueue(queue)?.removeAll() } }

@c @implementation
public func grun_idle_queue_invalidate(_ queue: OpaquePointer?) { Call.of { $0.idleQueue(queue)?.invalidate() } }

@c @implementation
public func grun_idle_queue_is_valid(_ queue: OpaquePointer?) -> gboolean {
    Call.of { $0.idleQueue(queue)?.isValid ?? false }.gboolean
}

@c @implementation
public func grun_idle_queue_set_label(_ queue: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let queue = call.idleQueue(queue), let label = call.label(label) else { return }
        queue.label = label
    }
}

@c @implementation
public func grun_idle_queue_copy_label(_ queue: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.idleQueue(queue)?.label).flatMap(copy) }
}

@c @implementation
public func grun_idle_queue_to_string(_ queue: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.idleQueue(queue)?.description).flatMap(copy) }
}

// MARK: In modes

@c @implementation
public func grun_loop_add_idle_queue(_ loop: OpaquePointer?, _ queue: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.idleQueue(queue) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_idle_queue(_ loop: OpaquePointer?, _ queue: OpaquePointer?, _ mode: UnsafePointer<CChar>?)
{
    Call.of(loop, { $0.idleQueue(queue) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_idle_queue(
    _ loop: OpaquePointer?, _ queue: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.idleQueue(queue) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: The type

private let idleQueueType = Types.boxed("GRunIdleQueue")

@c @implementation public func grun_idle_queue_get_type() -> GType { idleQueueType }
