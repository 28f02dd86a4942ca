// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-mode.h>.

public import CGRunHeaders
import GRunLoop

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
