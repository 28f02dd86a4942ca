// SPDX-License-Identifier: Apache-2.0
// A thread with a name for what it does, and a run loop that it can hand to others.

import Dispatch
import GRunLoop
import Glibc

/// A thread that runs a closure. It is to be joined.
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
        if error != 0 { fatalError("pthread_create failed: \(String(cString: strerror(error)))") }
        self.thread = thread
    }

    /// Waits until the closure has returned and the thread, with its run loop, is gone.
    func join() {
        pthread_join(thread, nil)
    }

    private static let entryPoint: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { start in
        guard let start else { return nil }
        Unmanaged<Start>.fromOpaque(start).takeRetainedValue().body()
        return nil
    }
}

/// A thread and its run loop. What is to be in the loop must be there before it is run: an empty mode is finished at
/// once.
struct LoopThread: Sendable {
    let loop: GRunLoop
    private let thread: WorkerThread

    /// Returns when the thread has its loop.
    ///
    /// - Parameter body: gets the thread's own run loop, adds to it, runs it.
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
        guard let loop = handover.value else { fatalError("the thread has signalled without its loop") }
        self.loop = loop
    }

    func join() {
        thread.join()
    }
}

/// Whether the caller is on the main thread.
var isMainThread: Bool { pthread_equal(pthread_self(), MainThread.handle) != 0 }

enum MainThread {
    /// Asked for by main, first of all.
    static let handle = pthread_self()
}
