// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-mode.h>.

public import CGRunHeaders
import GRunLoop

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
        return succeeds(error) { () throws(GRunLoop.SystemError) in try loop.addCommonMode(mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_get_next_timer_fire_date(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> gint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.mode(mode) else { return -1 }
        return loop.nextFireDate(forMode: mode)?.microseconds ?? -1
    }
}

// MARK: Sources

@c @implementation
public func grun_loop_add_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.source(source) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.source(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.source(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Descriptor sources

@c @implementation
public func grun_loop_add_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.fdSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        succeeds(error) { () throws(GRunLoop.SystemError) in try loop.add(source, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_fd_source(_ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?)
{
    Call.of(loop, { $0.fdSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_fd_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.fdSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Signal sources

@c @implementation
public func grun_loop_add_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.signalSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        succeeds(error) { () throws(GRunLoop.SystemError) in try loop.add(source, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.signalSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_signal_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.signalSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Child sources

@c @implementation
public func grun_loop_add_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.childSource(source) : nil }, mode, otherwise: false) { loop, source, mode in
        succeeds(error) { () throws(GRunLoop.SystemError) in try loop.add(source, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.childSource(source) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_child_source(
    _ loop: OpaquePointer?, _ source: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.childSource(source) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Timers

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

// MARK: Observers

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

// MARK: Idle queues

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

// MARK: Channels

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

// MARK: Ports

@c @implementation
public func grun_loop_add_port(_ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.port(port) }, mode, otherwise: ()) { $0.add($1, forMode: $2) }
}

@c @implementation
public func grun_loop_remove_port(_ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?) {
    Call.of(loop, { $0.port(port) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.port(port) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}

// MARK: Message ports

@c @implementation
public func grun_loop_add_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of(loop, { $0.error(error) ? $0.messagePort(port) : nil }, mode, otherwise: false) { loop, port, mode in
        succeeds(error) { () throws(GRunLoop.SystemError) in try loop.add(port, forMode: mode) }
    }.gboolean
}

@c @implementation
public func grun_loop_remove_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) {
    Call.of(loop, { $0.messagePort(port) }, mode, otherwise: ()) { $0.remove($1, forMode: $2) }
}

@c @implementation
public func grun_loop_contains_message_port(
    _ loop: OpaquePointer?, _ port: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> gboolean {
    Call.of(loop, { $0.messagePort(port) }, mode, otherwise: false) { $0.contains($1, forMode: $2) }.gboolean
}
