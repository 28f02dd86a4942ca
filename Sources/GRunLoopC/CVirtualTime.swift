// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-virtual-time.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_with_virtual_time(_ start: gint64, _ function: GRunVirtualTimeFunc?, _ data: gpointer?) {
    Call.of { call in
        guard let function = call.function(function) else { return }
        let first = start < 0 ? GRunLoop.now : GRunLoop.Instant(microseconds: start)
        GRunLoop.withVirtualTime(from: first) { function(borrowed($0.loop), data) }
    }
}

@c @implementation
public func grun_loop_get_time(_ loop: OpaquePointer?) -> gint64 {
    Call.of { $0.loop(loop)?.clock.now.microseconds ?? 0 }
}

extension Call {
    /// Returns the virtual time of a loop. If the loop's time is not virtual, logs a critical message and returns nil.
    fileprivate func virtualTime(of loop: GRunLoop) -> GRunLoop.VirtualTime? {
        required(GRunLoop.VirtualTime(of: loop), "the loop's time is virtual")
    }
}

@c @implementation
public func grun_loop_advance_time(_ loop: OpaquePointer?, _ seconds: gdouble, _ mode: UnsafePointer<CChar>?) {
    Call.of { call in
        guard let loop = call.loop(loop), let span = call.seconds(seconds), let mode = call.runnableMode(mode),
            let time = call.virtualTime(of: loop), call.isOwnThread(loop)
        else { return }
        time.advance(by: span, mode: mode)
    }
}

@c @implementation
public func grun_loop_advance_to_next_timer(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> gboolean {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode), let time = call.virtualTime(of: loop),
            call.isOwnThread(loop)
        else { return false }
        return time.advanceToNextTimer(mode: mode)
    }.gboolean
}
