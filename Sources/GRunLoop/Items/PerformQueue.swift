// SPDX-License-Identifier: Apache-2.0
// What is waiting to be performed on a loop's thread: one queue and one version-0 source for each set of modes.

import Glibc

/// Guarded by the loop's lock.
struct PerformQueue {
    /// One thing to perform, and who waits for it.
    final class Request: Sendable {
        private let body: @Sendable () -> Void
        private let done: DispatchlessSemaphore?

        init(waits: Bool, _ body: @escaping @Sendable () -> Void) {
            self.body = body
            done = waits ? DispatchlessSemaphore() : nil
        }

        func perform() {
            body()
            done?.signal()
        }

        /// The loop has ended: whoever waits is let go.
        func abandon() {
            done?.signal()
        }

        func wait() {
            done?.wait()
        }
    }

    private final class Channel {
        let source: GRunLoop.Source
        var requests: [Request] = []

        init(source: GRunLoop.Source) {
            self.source = source
        }
    }

    private var channels: [Set<GRunLoop.Mode>: Channel] = [:]
    private var isClosed = false

    /// Answers the source to signal, and whether it is new and must be added to the modes; nil if the loop has ended.
    mutating func append(
        _ request: Request, modes: Set<GRunLoop.Mode>, makeSource: () -> GRunLoop.Source
    ) -> (source: GRunLoop.Source, isNew: Bool)? {
        guard !isClosed else { return nil }
        if let channel = channels[modes] {
            channel.requests.append(request)
            return (channel.source, false)
        }
        let channel = Channel(source: makeSource())
        channel.requests.append(request)
        channels[modes] = channel
        return (channel.source, true)
    }

    mutating func takeAll(for modes: Set<GRunLoop.Mode>) -> [Request] {
        guard let channel = channels[modes] else { return [] }
        defer { channel.requests = [] }
        return channel.requests
    }

    /// The source of a set of modes has nothing left to do.
    mutating func removeIfIdle(_ modes: Set<GRunLoop.Mode>) -> GRunLoop.Source? {
        guard let channel = channels[modes], channel.requests.isEmpty else { return nil }
        channels[modes] = nil
        return channel.source
    }

    mutating func close() -> [Request] {
        isClosed = true
        defer { channels = [:] }
        return channels.values.flatMap(\.requests)
    }
}

/// A counting semaphore that needs neither libdispatch nor a descriptor.
final class DispatchlessSemaphore: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(raw, 0, 0)
    }

    deinit {
        sem_destroy(raw)
        raw.deallocate()
    }

    func signal() {
        sem_post(raw)
    }

    func wait() {
        while sem_wait(raw) != 0 && errno == EINTR {}
    }
}
