// SPDX-License-Identifier: Apache-2.0
// The queues of `performOnThread` and `performAndWait`.

/// The closures that a loop still has to call. The closures for one set of modes share a queue and a version-0 source.
/// Guarded by the loop's lock.
struct PerformQueue {
    /// A closure to call. If a thread waits for the closure, the request also has the semaphore that wakes the thread.
    final class Request: AsyncWaiter {
        private let body: @Sendable () -> Void
        private let done: Semaphore?
        var isAwaited: Bool { done != nil }

        init(waits: Bool, _ body: @escaping @Sendable () -> Void) {
            self.body = body
            done = waits ? Semaphore() : nil
        }

        func perform() {
            body()
            done?.signal()
        }

        /// Wakes the waiting thread, because the loop has ended. Either the closure was not called, or it ended the
        /// loop's thread.
        func loopHasEnded() {
            done?.signal()
        }

        func wait() {
            done?.wait()
        }
    }

    private final class Channel {
        let source: GRunLoop.Source
        /// The requests, with nil for each taken request. Otherwise the captures of a taken request could be released
        /// under the lock.
        private var requests: [Request?] = []
        /// The index of the first request that was not taken.
        private var next = 0

        init(source: GRunLoop.Source) {
            self.source = source
        }

        var count: Int { requests.count - next }
        var waiting: [Request] { requests[next...].compactMap(\.self) }

        func append(_ request: Request) { requests.append(request) }

        func take() -> Request? {
            guard next < requests.count else { return nil }
            let request = requests[next].take()
            next += 1
            // Drops the array elements of taken requests. Otherwise a queue that is never empty would grow forever.
            if next * 2 >= requests.count {
                requests.removeFirst(next)
                next = 0
            }
            invariant(next < requests.count || requests.isEmpty, "a queue with no waiting request is empty")
            return request
        }
    }

    private var channels: [Set<GRunLoop.Mode>: Channel] = [:]
    private var isClosed = false

    /// Queues a request. Returns the source to signal, and whether the source is new and must be added to the modes.
    /// Returns nil if the loop has ended.
    mutating func append(
        _ request: Request, modes: Set<GRunLoop.Mode>, makeSource: () -> GRunLoop.Source
    ) -> (source: GRunLoop.Source, isNew: Bool)? {
        guard !isClosed else { return nil }
        if let channel = channels[modes] {
            channel.append(request)
            return (channel.source, false)
        }
        let channel = Channel(source: makeSource())
        channel.append(request)
        channels[modes] = channel
        return (channel.source, true)
    }

    func count(for modes: Set<GRunLoop.Mode>) -> Int {
        channels[modes]?.count ?? 0
    }

    /// Takes only the next request. If its closure ends the loop's thread, the other requests are still in the queue,
    /// and the end of the loop wakes their waiting threads.
    func take(for modes: Set<GRunLoop.Mode>) -> Request? {
        channels[modes]?.take()
    }

    /// If no request is queued for these modes, removes and returns their source.
    mutating func removeIfIdle(_ modes: Set<GRunLoop.Mode>) -> GRunLoop.Source? {
        guard let channel = channels[modes], channel.count == 0 else { return nil }
        channels[modes] = nil
        return channel.source
    }

    func source(for modes: Set<GRunLoop.Mode>) -> GRunLoop.Source? {
        channels[modes]?.source
    }

    /// Closes all queues at the end of the loop. Returns the requests that were not taken.
    mutating func close() -> [Request] {
        isClosed = true
        defer { channels = [:] }
        return channels.values.flatMap(\.waiting)
    }
}
