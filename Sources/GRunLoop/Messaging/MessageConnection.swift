// SPDX-License-Identifier: Apache-2.0
// A peer of a message port: its socket, and the answers that it did not take yet.

import CGRun
import Glibc

/// What a message port waits for: an epoll of its own, so that a pass sees one descriptor whatever the number of peers.
/// Closed with the object.
final class MessageWatch: Sendable {
    let epoll: Int32

    init() throws(GRunLoop.MessagePortError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .limitReached(errno: errno) }
    }

    deinit { cgrun_close(epoll) }

    /// Returns 0 or errno.
    func add(_ descriptor: Int32, _ number: UInt64) -> Int32 {
        control(EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue, number)
    }

    func change(_ descriptor: Int32, _ number: UInt64, alsoWhenWritable: Bool) {
        let events = EPOLLIN.rawValue | (alsoWhenWritable ? EPOLLOUT.rawValue : 0)
        _ = control(EPOLL_CTL_MOD, descriptor, events, number)
    }

    /// Nothing is told of it until it is changed again.
    func pause(_ descriptor: Int32, _ number: UInt64) { _ = control(EPOLL_CTL_MOD, descriptor, 0, number) }

    func remove(_ descriptor: Int32) { _ = control(EPOLL_CTL_DEL, descriptor, 0, 0) }

    /// One that is ready; nil if there is none. They take turns.
    func next() -> (number: UInt64, isWritable: Bool, isReadable: Bool)? {
        var event = epoll_event()
        guard cgrun_epoll_look(epoll, &event, 1) == 1 else { return nil }
        return (
            event.data.u64, event.events & EPOLLOUT.rawValue != 0, event.events & ~EPOLLOUT.rawValue != 0
        )
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ number: UInt64) -> Int32 {
        var event = epoll_event(events: events, data: epoll_data_t(u64: number))
        return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : errno
    }
}

/// Threads: any.
final class MessageConnection: @unchecked Sendable {
    /// By which the port's watch tells of it.
    let number: UInt64
    let socket: MessageSocket
    private let watch: MessageWatch
    private let lock = Lock.take()
    @exclusivity(unchecked) private var state = State()

    /// Guarded by the lock.
    private struct State {
        /// In the order in which they are to be sent.
        var waiting: [OutgoingPacket] = []
        var waitingBytes = 0
        var isEnded = false
    }

    /// How many answers may wait, and how many bytes, before one that does not take its answers is let go of.
    private static let (most, mostBytes) = (1024, 16 << 20)

    init(_ number: UInt64, _ socket: MessageSocket, _ watch: MessageWatch) {
        self.number = number
        self.socket = socket
        self.watch = watch
    }

    deinit { Lock.giveBack(lock) }

    /// Sends an answer, after those that wait. False if the peer has gone.
    func answer(_ packet: OutgoingPacket) -> Bool {
        lock.withLock {
            if state.isEnded { return false }
            guard state.waiting.isEmpty else { return waitLocked(packet) }
            switch socket.send(packet) {
            case .sent: return true
            case .full: return waitLocked(packet)
            case .gone, .failed:
                endLocked()
                return false
            }
        }
    }

    private func waitLocked(_ packet: OutgoingPacket) -> Bool {
        guard state.waiting.count < Self.most, state.waitingBytes < Self.mostBytes else {
            endLocked()
            return false
        }
        if state.waiting.isEmpty { watch.change(socket.descriptor, number, alsoWhenWritable: true) }
        state.waiting.append(packet)
        state.waitingBytes += packet.size
        return true
    }

    /// The peer has taken some.
    func sendWaiting() {
        // They may hold what is the program's: let go after the lock.
        var sent: [OutgoingPacket] = []
        lock.withLock {
            if state.isEnded { return }
            var count = 0
            loop: while count < state.waiting.count {
                switch socket.send(state.waiting[count]) {
                case .sent: count += 1
                case .full: break loop
                case .gone, .failed:
                    endLocked()
                    break loop
                }
            }
            sent = Array(state.waiting[..<count])
            state.waiting.removeFirst(count)
            for packet in sent { state.waitingBytes -= packet.size }
            if state.waiting.isEmpty, !state.isEnded {
                watch.change(socket.descriptor, number, alsoWhenWritable: false)
            }
        }
    }

    /// The peer is told, and the port when it next looks. The second time it does nothing.
    func end() { lock.withLock { endLocked() } }

    private func endLocked() {
        guard !state.isEnded else { return }
        state.isEnded = true
        socket.end()
    }
}
