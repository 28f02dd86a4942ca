// SPDX-License-Identifier: Apache-2.0
// A peer of a message port: its socket, and the replies that it did not take yet.

import CGRun
import Glibc

/// What a message port waits for: an epoll of its own, so that a pass sees one descriptor whatever the number of peers.
/// Closed with the object.
final class MessageWatch: Sendable {
    let epoll: Int32
    /// Made with the watch: when it is needed no descriptor is left. In the epoll, so that it is where the port is.
    private let timer: Int32
    /// The timer is ``timerDue``.
    static let timerDue = UInt64.max
    private static let pause: Nanoseconds = 50_000_000

    init() throws(GRunLoop.MessagePortError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .limitReached(errno: errno) }
        timer = cgrun_timer_new()
        // What is thrown from here on closes both.
        guard timer >= 0 else { throw .limitReached(errno: errno) }
        let error = add(timer, Self.timerDue)
        guard error == 0 else { throw .limitReached(errno: error) }
    }

    deinit {
        cgrun_close(epoll)
        if timer >= 0 { cgrun_close(timer) }
    }

    /// Returns 0 or errno.
    func add(_ descriptor: Int32, _ number: UInt64) -> Int32 {
        control(EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue, number)
    }

    func change(_ descriptor: Int32, _ number: UInt64, alsoWhenWritable: Bool) {
        let events = EPOLLIN.rawValue | (alsoWhenWritable ? EPOLLOUT.rawValue : 0)
        _ = control(EPOLL_CTL_MOD, descriptor, events, number)
    }

    /// Nothing is told of it until it goes on, for which ``timerDue`` says the moment.
    func pause(_ descriptor: Int32, _ number: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, 0, number)
        _ = cgrun_timer_arm(timer, Nanoseconds.now().addingSaturating(Self.pause))
    }

    func goOn(_ descriptor: Int32, _ number: UInt64) {
        _ = cgrun_timer_arm(timer, 0)
        change(descriptor, number, alsoWhenWritable: false)
    }

    func remove(_ descriptor: Int32) { _ = control(EPOLL_CTL_DEL, descriptor, 0, 0) }

    /// Nothing is told of any more.
    func end(_ descriptors: [Int32]) { for descriptor in descriptors + [timer] { remove(descriptor) } }

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
        var isEnded = false
    }

    /// How many replies, bytes and descriptors may wait, before one that does not take its replies is let go of. Beside
    /// them one reply may wait that is larger.
    private static let (most, mostBytes, mostDescriptors) = (1024, 16 << 20, 64)

    init(_ number: UInt64, _ socket: MessageSocket, _ watch: MessageWatch) {
        self.number = number
        self.socket = socket
        self.watch = watch
    }

    deinit { Lock.giveBack(lock) }

    /// Sends a reply, after those that wait.
    func reply(_ packet: OutgoingPacket) -> MessageSocket.Sent {
        lock.withLock { () -> (MessageSocket.Sent, [OutgoingPacket]) in
            if state.isEnded { return (.gone, []) }
            let sent = state.waiting.isEmpty ? socket.send(packet) : .full
            switch sent {
            case .full: return waitLocked(packet)
            case .gone: return (.gone, endLocked())
            case .sent, .failed: return (sent, [])
            }
        }.0
    }

    /// Returns what will never be sent as well: it may hold what is the program's, and goes after the lock.
    private func waitLocked(_ packet: OutgoingPacket) -> (MessageSocket.Sent, [OutgoingPacket]) {
        let bytes = state.waiting.reduce(0) { $0 + $1.size }
        let descriptors = state.waiting.reduce(0) { $0 + $1.descriptorCount }
        guard state.waiting.count < Self.most, bytes < Self.mostBytes, descriptors < Self.mostDescriptors else {
            return (.gone, endLocked())
        }
        if state.waiting.isEmpty { watch.change(socket.descriptor, number, alsoWhenWritable: true) }
        state.waiting.append(packet)
        return (.sent, [])
    }

    /// The peer has taken some.
    func sendWaiting() {
        // What was sent goes after the lock.
        _ = lock.withLock { () -> [OutgoingPacket] in
            var count = 0
            loop: while count < state.waiting.count {
                switch socket.send(state.waiting[count]) {
                case .sent: count += 1
                case .full: break loop
                // Whoever asked would wait for what cannot be sent.
                case .gone, .failed: return endLocked()
                }
            }
            let sent = Array(state.waiting[..<count])
            state.waiting.removeFirst(count)
            if state.waiting.isEmpty, !state.isEnded {
                watch.change(socket.descriptor, number, alsoWhenWritable: false)
            }
            return sent
        }
    }

    /// The peer is told, and the port when it next looks. The second time it does nothing.
    func end() { _ = lock.withLock { endLocked() } }

    private func endLocked() -> [OutgoingPacket] {
        guard !state.isEnded else { return [] }
        state.isEnded = true
        socket.end()
        let waiting = state.waiting
        state.waiting = []
        return waiting
    }
}
