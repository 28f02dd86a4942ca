// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-thread.h>.

public import CGRunHeaders
import GRunLoop

@c @implementation
public func grun_thread_new(
    _ name: UnsafePointer<CChar>?, _ setUp: GRunThreadSetUpFunc?, _ data: gpointer?,
    _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
) -> OpaquePointer? {
    Call.of { call in
        guard let name = call.required(name, "name != NULL"), call.error(error),
            let text = call.required(String(validatingCString: name), "g_utf8_validate (name, -1, NULL)")
        else { return nil }
        let closure = setUp.map { Closure($0, data, nil) }
        do throws(GRunLoop.SystemError) {
            return retained(
                try GRunLoop.Thread(name: text) { here in
                    if let closure { closure.function(borrowed(here.loop), closure.data) }
                })
        } catch let failure {
            fail(error, failure)
            return nil
        }
    }
}

private let isThread: StaticString = "thread != NULL"

extension Call {
    fileprivate func thread(_ pointer: OpaquePointer?) -> GRunLoop.Thread? { object(pointer, isThread) }
}

@c @implementation
public func grun_thread_ref(_ thread: OpaquePointer?) -> OpaquePointer? { Call.of { $0.retain(thread, isThread) } }

@c @implementation
public func grun_thread_unref(_ thread: OpaquePointer?) { Call.of { $0.release(thread, isThread) } }

@c @implementation
public func grun_thread_copy_name(_ thread: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Call.of { ($0.thread(thread)?.name).flatMap(copy) }
}

@c @implementation
public func grun_thread_get_loop(_ thread: OpaquePointer?) -> OpaquePointer? {
    Call.of { ($0.thread(thread)?.loop).map(borrowed) }
}

@c @implementation
public func grun_thread_stop(_ thread: OpaquePointer?) { Call.of { $0.thread(thread)?.stop() } }

@c @implementation
public func grun_thread_wait(_ thread: OpaquePointer?) {
    Call.of { call in
        guard let thread = call.thread(thread), !Fork.refuses(""),
            call.requires(!thread.loop.isOfThisThread, "thread is not the calling thread")
        else { return }
        thread.join()
    }
}

// MARK: The type

private let threadType = Types.boxed("GRunThread")

@c @implementation public func grun_thread_get_type() -> GType { threadType }
