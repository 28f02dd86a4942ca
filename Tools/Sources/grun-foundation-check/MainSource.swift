// SPDX-License-Identifier: Apache-2.0
// A version-0 source of Core Foundation in the default mode of the main loop.

import CoreFoundation
import Synchronization

final class MainSource: @unchecked Sendable {
    private let body = Mutex<@Sendable () -> Void>({})
    private let loop = CFRunLoopGetMain()
    private var source: CFRunLoopSource?

    init(_ body: @escaping @Sendable () -> Void = {}) {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.perform = { object($0, MainSource.self).body.withLock { $0 }() }
        source = CFRunLoopSourceCreate(nil, 0, &context)
        call(body)
        CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    }

    /// Replaces the closure that the source calls.
    func call(_ body: @escaping @Sendable () -> Void) { self.body.withLock { $0 = body } }

    /// Invalidates the source, which then is not called any more.
    func invalidate() { CFRunLoopSourceInvalidate(source) }

    // MARK: Any thread

    func signal() { CFRunLoopSourceSignal(source) }
    func wakeLoop(by wakeUp: (CFRunLoop) -> Void = { CFRunLoopWakeUp($0) }) { loop.map(wakeUp) }
    var isLoopWaiting: Bool { CFRunLoopIsWaiting(loop) }
}
