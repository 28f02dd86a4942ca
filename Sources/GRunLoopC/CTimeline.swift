// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-timeline.h>.

public import CGRunHeaders
import GRunLoop
import GRunLoopDiagnostics

@c @implementation
public func grun_timeline_start() {
    Call.of { _ in GRunLoop.startTimeline() }
}

@c @implementation
public func grun_timeline_stop() {
    Call.of { _ in GRunLoop.stopTimeline() }
}

@c @implementation
public func grun_timeline_write(
    _ path: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> gboolean {
    Call.of { call in
        guard let path = call.required(path, "path != NULL"), call.error(error) else { return false }
        do throws(GRunLoop.SystemError) {
            try GRunLoop.writeTimeline(to: path)
            return true
        } catch let failure {
            fail(error, failure)
            return false
        }
    }.gboolean
}
