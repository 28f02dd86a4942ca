// SPDX-License-Identifier: Apache-2.0
// A new thread for each program, so that no loop keeps the state of an earlier program.

import Dispatch
import Glibc

private final class Start {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

/// A thread that runs one closure.
struct FreshThread {
    private let ended = DispatchSemaphore(value: 0)

    init(_ body: @escaping () -> Void) {
        let (thread, ended) = (startThread(body), ended)
        // POSIX has no join with a time limit, so another thread joins.
        pthread_detach(
            startThread {
                pthread_join(thread, nil)
                ended.signal()
            })
    }

    /// Waits until the thread and its destructors have ended, or until a date. Returns whether the thread has ended.
    func join(until date: UInt64) -> Bool { ended.wait(timeout: DispatchTime(uptimeNanoseconds: date)) == .success }
}

/// Runs `body` on this many threads at the same time, and returns when all have ended.
public func onFreshThreads(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    let threads = (0..<count).map { _ in startThread(body) }
    for thread in threads { pthread_join(thread, nil) }
}

private func startThread(_ body: @escaping () -> Void) -> pthread_t {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 2 << 20)
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(body)).toOpaque()
    let error = pthread_create(
        &thread, &attributes,
        { start in
            guard let start else { return nil }
            Unmanaged<Start>.fromOpaque(start).takeRetainedValue().body()
            return nil
        }, start)
    if error != 0 { fatalError("pthread_create failed with \(error)") }
    return thread
}
