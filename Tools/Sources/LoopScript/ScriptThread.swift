// SPDX-License-Identifier: Apache-2.0
// A fresh thread for each program, so that no loop knows what an earlier program did.

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
        // To join with a time limit is not POSIX: so another thread waits.
        pthread_detach(
            startThread {
                pthread_join(thread, nil)
                ended.signal()
            })
    }

    /// Waits until the thread, with its destructors, has ended, or until a date; whether it has ended.
    func join(until date: UInt64) -> Bool { ended.wait(timeout: DispatchTime(uptimeNanoseconds: date)) == .success }
}

/// Runs `body` on so many threads at once and returns when all have ended.
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
