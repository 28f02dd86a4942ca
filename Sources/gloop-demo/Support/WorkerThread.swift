// SPDX-License-Identifier: Apache-2.0
// Threads for scenarios: a thread that runs a closure, and a thread whose run loop the creator can use.

import Dispatch
import GRunLoop
import Glibc

/// A thread that runs a closure. The creator of the thread must join it.
struct WorkerThread: Sendable {
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    private let thread: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let error = pthread_create(&thread, nil, Self.entryPoint, Unmanaged.passRetained(Start(body)).toOpaque())
        if error != 0 { fatalError("pthread_create() has failed: \(String(cString: strerror(error)))") }
        self.thread = thread
    }

    /// Waits until the closure has returned, and the thread and its run loop have ended.
    func join() {
        pthread_join(thread, nil)
    }

    private static let entryPoint: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { start in
        guard let start else { return nil }
        Unmanaged<Start>.fromOpaque(start).takeRetainedValue().body()
        return nil
    }
}

/// A thread and its run loop. Items must be in the loop before it runs, because a run in an empty mode finishes
/// immediately.
struct LoopThread: Sendable {
    let loop: GRunLoop
    private let thread: WorkerThread

    /// Starts the thread, and waits until its run loop exists.
    ///
    /// - Parameter body: called on the new thread with its run loop. `body` adds items to this loop and runs the loop.
    init(_ body: @escaping @Sendable (GRunLoop) -> Void) {
        let handover = Shared<GRunLoop?>(nil)
        let isReady = DispatchSemaphore(value: 0)
        thread = WorkerThread {
            let loop = GRunLoop.current
            handover.value = loop
            isReady.signal()
            body(loop)
        }
        isReady.wait()
        guard let loop = handover.value else { fatalError("the thread did not pass its loop") }
        self.loop = loop
    }

    func join() {
        thread.join()
    }
}

var isMainThread: Bool { pthread_equal(pthread_self(), MainThread.handle) != 0 }

enum MainThread {
    /// The main thread. `main` must read this property before other threads do, because the first read stores the
    /// calling thread.
    static let handle = pthread_self()
}
