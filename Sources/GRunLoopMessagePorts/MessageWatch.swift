// SPDX-License-Identifier: Apache-2.0
// The epoll of a message port, which watches the port's listener, connections and timer.

import CGRun
import GRunLoop
import Glibc

/// The epoll of a message port, with which a loop watches one descriptor for all peers.
///
/// Each descriptor in the epoll has a number, which its events report. The epoll is closed when this object is
/// released. Threads: any.
final class MessageWatch: @unchecked Sendable {
    enum Event {
        /// The descriptor with this number has a packet or a new peer, or the peer has closed the connection.
        case input(UInt64)
        /// The peer of the connection with this number has taken a packet.
        case room(UInt64)
        /// The time for another try to accept or to send has come: see ``due()``.
        case time
    }

    let epoll: Int32
    /// An epoll inside `epoll`, for connections that wait until their peers take packets or memory. It is
    /// edge-triggered (EPOLLET): each packet that a peer takes is an event. In a level-triggered epoll, a socket with
    /// room would be ready in every pass while its connection waits for memory to be taken.
    private let rooms: Int32
    /// The timer for the next try. The timer is made in advance, because the process may have no descriptor left later.
    /// `epoll` contains the timer, so that the timer fires in the modes of the port.
    private let timer: Int32
    private static let (timerNumber, roomsNumber) = (UInt64.max, UInt64.max - 1)
    private static let pause: Nanoseconds = 50_000_000

    private let lock = Lock.take()
    /// The numbers of the listener and the connections that are tried again when the timer is due. Guarded by the lock.
    @exclusivity(unchecked) private var waiting: Set<UInt64> = []

    init() throws(GRunLoop.MessagePortError) {
        var failure: GRunLoop.MessagePortError?
        func open(_ call: String, _ make: () -> Int32) -> Int32 {
            if failure != nil { return -1 }
            let descriptor = make()
            if descriptor < 0 { failure = .init(errno: errno, of: call) }
            return descriptor
        }
        epoll = open("epoll_create1(2)") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        rooms = open("epoll_create1(2)") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        timer = open("timerfd_create(2)") { cgrun_timer_new() }
        // Every property is set here, so that deinit closes the open descriptors if this line throws.
        if let failure { throw failure }
        for (descriptor, number) in [(timer, Self.timerNumber), (rooms, Self.roomsNumber)] {
            let error = add(descriptor, number)
            guard error == 0 else { throw .init(errno: error, of: "epoll_ctl(2)") }
        }
    }

    deinit {
        for descriptor in [epoll, rooms, timer] where descriptor >= 0 { cgrun_close(descriptor) }
        Lock.giveBack(lock)
    }

    /// Returns 0 or errno.
    func add(_ descriptor: Int32, _ number: UInt64) -> Int32 {
        control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue, number)
    }

    func remove(_ descriptor: Int32) { _ = control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0) }

    /// Starts to report ``Event/room(_:)`` for each packet that the peer of a connection takes. If there is room now,
    /// the first event is reported immediately. Returns 0 or errno.
    func addRoom(_ descriptor: Int32, _ number: UInt64) -> Int32 {
        let isEdge: UInt32 = 1 << 31
        return control(rooms, EPOLL_CTL_ADD, descriptor, EPOLLOUT.rawValue | isEdge, number)
    }

    func removeRoom(_ descriptor: Int32) { _ = control(rooms, EPOLL_CTL_DEL, descriptor, 0, 0) }

    /// Stops the events of a descriptor, and schedules ``Event/time``. When this event is reported, the caller calls
    /// ``goOn(_:_:)``.
    func pause(_ descriptor: Int32, _ number: UInt64) {
        _ = control(epoll, EPOLL_CTL_MOD, descriptor, 0, number)
        retry(number)
    }

    /// Stops the input of a descriptor until ``goOn(_:_:)``. If the peer closes the connection, the kernel still
    /// reports this, but only once and not in every pass (EPOLLONESHOT).
    func hold(_ descriptor: Int32, _ number: UInt64) {
        _ = control(epoll, EPOLL_CTL_MOD, descriptor, EPOLLONESHOT.rawValue, number)
    }

    func goOn(_ descriptor: Int32, _ number: UInt64) {
        _ = control(epoll, EPOLL_CTL_MOD, descriptor, EPOLLIN.rawValue, number)
    }

    /// Schedules ``Event/time`` within 50 ms. ``due()`` then contains the number.
    func retry(_ number: UInt64) {
        lock.withLock {
            if waiting.isEmpty { _ = cgrun_timer_arm(timer, Nanoseconds.now().addingSaturating(Self.pause)) }
            waiting.insert(number)
        }
    }

    /// Removes and returns the numbers of the listener and the connections to try again now.
    func due() -> Set<UInt64> {
        lock.withLock {
            _ = cgrun_timer_arm(timer, 0)
            defer { waiting = [] }
            return waiting
        }
    }

    /// Stops all events of the timer and of the rooms. The caller removes the other descriptors.
    func end() {
        remove(timer)
        remove(rooms)
    }

    /// Returns the next event; nil if there is none. Ready descriptors take turns.
    func next() -> Event? {
        while let number = next(in: epoll) {
            switch number {
            case Self.timerNumber: return .time
            case Self.roomsNumber: if let number = next(in: rooms) { return .room(number) }
            default: return .input(number)
            }
        }
        return nil
    }

    private func next(in epoll: Int32) -> UInt64? {
        var event = epoll_event()
        return cgrun_epoll_look(epoll, &event, 1) == 1 ? event.data.u64 : nil
    }

    private func control(
        _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ number: UInt64
    ) -> Int32 {
        var event = epoll_event(events: events, data: epoll_data_t(u64: number))
        return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : errno
    }
}
