// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-stalls.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopDiagnostics

@c @implementation
public func grun_loop_watch_stalls(
    _ loop: OpaquePointer?, _ seconds: gdouble, _ function: GRunStallFunc?, _ data: gpointer?,
    _ notify: GDestroyNotify?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> guint64 {
    Call.of { call in
        guard let loop = call.loop(loop), let threshold = call.seconds(seconds), call.error(error) else { return 0 }
        let closure = function.map { Closure($0, data, notify) }
        if closure == nil { notify?(data) }
        var handler: (@Sendable (GRunLoop.StallReport) -> Void)?
        if let closure {
            // `unowned` is safe, because the stall monitor's watcher retains the loop as long as it can call the
            // handler.
            handler = { [unowned loop] report in
                report.description.withCString {
                    closure.function(
                        borrowed(loop), $0, report.duration.seconds, report.isOver.gboolean, closure.data)
                }
            }
        }
        do throws(GRunLoop.SystemError) {
            return guint64(try loop.watchStalls(threshold: threshold, handler))
        } catch let failure {
            fail(error, failure)
            return 0
        }
    }
}

@c @implementation
public func grun_loop_unwatch_stalls(_ loop: OpaquePointer?, _ id: guint64) -> gboolean {
    Call.of { $0.loop(loop)?.unwatchStalls(numbered: UInt64(id)) ?? false }.gboolean
}
