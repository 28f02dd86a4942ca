// SPDX-License-Identifier: Apache-2.0
// What the main dispatch queue does where it must not be drained.

import Dispatch
import GRunLoop
import Glibc
import TestSupport

func drainOnAnotherThread() {
    guard let symbol = dlsym(nil, "_dispatch_main_queue_callback_4CF") else { return say("no such function") }
    let drain = unsafeBitCast(symbol, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
    DispatchQueue.main.async {}
    let address = UInt(bitPattern: unsafeBitCast(drain, to: UnsafeRawPointer.self))
    onPlainThread {
        let drain = unsafeBitCast(
            UnsafeRawPointer(bitPattern: address), to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)
        drain(nil)
    }
    say("drained")
}

/// dispatch_main() ends the main thread, but a thread-specific destructor of it can still run its loop.
func afterDispatchMain() {
    var key = pthread_key_t()
    pthread_key_create(&key) { _ in
        let loop = GRunLoop.current
        let ran = Counter()
        DispatchQueue.main.async { if threadID == getpid() { ran.increment() } }
        loop.after(.milliseconds(20)) { say("timer ran") }
        say("\(loop.run(for: .seconds(5)))")
        say(ran.value == 0 ? "the main queue did not run here" : "the main queue ran")
        exit(0)
    }
    pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1))
    dispatchMain()
}
