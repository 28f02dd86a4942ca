// SPDX-License-Identifier: Apache-2.0
// Scenarios in which the main dispatch queue must not be drained.

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

/// dispatch_main() ends the main thread, but a thread-specific destructor of that thread can still run its loop.
func afterDispatchMain() {
    var key = pthread_key_t()
    pthread_key_create(&key) { _ in runAfterDispatchMain() }
    pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1))
    forgetFrames()
    dispatchMain()
}

/// dispatch_main() leaves frames without returning. Address Sanitizer would take later variables on this stack for
/// those of the frames. This makes it forget them.
private func forgetFrames() {
    guard let forget = dlsym(nil, "__asan_handle_no_return") else { return }
    unsafeBitCast(forget, to: (@convention(c) () -> Void).self)()
}

@inline(never) private func runAfterDispatchMain() {
    let loop = GRunLoop.current
    let ran = Counter()
    DispatchQueue.main.async { if threadID == getpid() { ran.increment() } }
    loop.after(.milliseconds(20)) { say("timer ran") }
    say("\(loop.run(for: .seconds(5)))")
    say(ran.value == 0 ? "the main queue did not run here" : "the main queue ran")
    exit(0)
}

/// dispatch_main() has ended the main thread, and another thread uses the main loop for the first time.
func touchAfterDispatchMain() {
    let thread = startThread {
        // The main thread has ended when other threads serve its queue.
        let isGone = Flag()
        DispatchQueue.main.async { if threadID != getpid() { isGone.set() } }
        _ = isGone.wait()
        say("touched")
        _ = GRunLoop.main
        _ = GRunLoop.main
        exit(0)
    }
    _ = thread
    dispatchMain()
}

/// Runs the main loop inside a block of the main queue, while another block waits.
func runInsideMainQueueBlock() {
    let loop = GRunLoop.main
    let inner = Counter()
    for _ in 0..<2 {
        DispatchQueue.main.async {
            DispatchQueue.main.async { inner.increment() }
            loop.keepAlive()
            loop.run(for: .milliseconds(20))
            say("in the block: \(inner.value)")
        }
        loop.run(for: .milliseconds(100))
    }
    runUntil(loop) { inner.value == 2 }
    say("afterwards: \(inner.value)")
}

/// As above, but the other block comes just before the sleep.
func sleepInsideMainQueueBlock() {
    let inner = Counter()
    let loop = GRunLoop.main
    DispatchQueue.main.async {
        loop.keepAlive()
        let late = GRunLoop.Observer(activities: .beforeWaiting, repeats: false) { _, _ in
            DispatchQueue.main.async { inner.increment() }
        }
        loop.add(late, forMode: .default)
        loop.run(for: .milliseconds(20))
        say("in the block: \(inner.value)")
    }
    runUntil(loop) { inner.value == 1 }
    say("afterwards: \(inner.value)")
}

/// As above, but the block runs a foreign loop.
func hostInsideMainQueueBlock() {
    let inner = Counter()
    let loop = GRunLoop.main
    DispatchQueue.main.async {
        DispatchQueue.main.async { inner.increment() }
        iterateHost(for: .milliseconds(20))
        say("in the block: \(inner.value)")
    }
    runUntil(loop) { inner.value == 1 }
    say("afterwards: \(inner.value)")
}

/// Runs the loop until the condition holds, or until a time limit.
private func runUntil(_ loop: GRunLoop, _ hasHappened: () -> Bool) {
    let end = GRunLoop.now.advanced(by: Patience.normal)
    while !hasHappened(), GRunLoop.now < end { loop.run(for: .milliseconds(20)) }
}
