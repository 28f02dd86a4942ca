// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-host.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_loop_copy_ambient_mode(_ loop: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.loop(loop)?.ambientMode.rawValue).flatMap(copy) }
}

@c @implementation
public func grun_loop_push_ambient_mode(
    _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> guint {
    Call.of { call in
        guard let loop = call.loop(loop), let mode = call.runnableMode(mode), call.error(error), call.isOwnThread(loop)
        else {
            return 0
        }
        var id: guint = 0
        _ = succeeds(error) { () throws(GRunLoop.SystemError) in id = try loop.pushNumbered(ambientMode: mode) }
        return id
    }
}

@c @implementation
public func grun_loop_pop_ambient_mode(_ loop: OpaquePointer?, _ id: guint) {
    Call.of { call in
        guard let loop = call.ownLoop(loop) else { return }
        _ = call.requires(loop.popAmbientMode(numbered: id), "the mode with this id is pushed")
    }
}

@c @implementation
public func grun_loop_detach(_ loop: OpaquePointer?) { Call.of { $0.ownLoop(loop)?.detach() } }

@c @implementation
public func grun_loop_attach(_ loop: OpaquePointer?) { Call.of { $0.ownLoop(loop)?.attach() } }
