// SPDX-License-Identifier: Apache-2.0
// A peer of a message port: its socket, and the replies that it did not take yet.

import CGRun
import Glibc

/// It ends in three steps: after ``end()`` nothing is sent any more, after ``drop()`` nothing is received either, and
/// ``close()`` closes its descriptor, also while the object is held. Threads: any.
final class MessageConnection: @unchecked Sendable {
    /// The number that the port's watch reports for this connection.
    let number: UInt64
    /// The resources that the peer's messages hold in this process.
    let allowance: MessageAllowance
    let process: pid_t
    private let watch: MessageWatch
    private let untaken: UntakenReplies
    private let lock = Lock.take()
    @exclusivity(unchecked) private var state: State

    /// Guarded by the lock.
    private struct State {
        /// Nil once it is closed. Others that are in a system call with it hold it for as long.
        var socket: MessageSocket?
        /// In the order in which they are to be sent.
        var waiting: [OutgoingPacket] = []
        /// Bytes of memory that was sent. The peer may have taken it since the last recount.
        var sent = 0
        var isRoomWatched = false
        /// The peer is not read: see ``pauseIfUsedUp()``.
        var isPaused = false
        var isEnded = false
        /// It was ended because the peer does not take its replies.
        var isTurnedAway = false
        var isDropped = false
    }

    init(
        _ number: UInt64, _ socket: MessageSocket, _ watch: MessageWatch, _ untaken: UntakenReplies,
        _ holdings: MessageHoldings
    ) {
        self.number = number
        allowance = MessageAllowance(of: holdings)
        self.watch = watch
        self.untaken = untaken
        process = socket.peer
        state = State(socket: socket)
        untaken.count(1, of: process)
    }

    deinit { Lock.giveBack(lock) }

    // MARK: Messages

    enum Input {
        case socket(MessageSocket)
        /// The connection is closed, or the port does not read from the peer for now.
        case none
        /// The port has ended the connection because the peer does not take its replies. The port does not handle the
        /// requests that wait: the handler would make replies that nobody takes.
        case refused
    }

    /// The socket to read from.
    var input: Input {
        lock.withLock {
            if state.isTurnedAway { return .refused }
            guard let socket = state.socket, !state.isPaused else { return .none }
            return .socket(socket)
        }
    }

    /// Stops reading from a peer whose messages hold too much of this process, until some are released. Returns
    /// whether they do.
    func pauseIfUsedUp() -> Bool {
        lock.withLock {
            guard let socket = state.socket, allowance.isUsedUp(goOn: { [weak self] in self?.goOn() }) else {
                return false
            }
            state.isPaused = true
            watch.hold(socket.descriptor, number)
            return true
        }
    }

    private func goOn() {
        lock.withLock {
            state.isPaused = false
            if let socket = state.socket, !state.isDropped { watch.goOn(socket.descriptor, number) }
        }
    }

    // MARK: Replies

    /// Sends a reply, after those that wait.
    func reply(_ packet: OutgoingPacket) -> MessageSocket.Sent {
        let isAdmitted = prepare(packet) { state.waiting.isEmpty && !state.isEnded }
        // A packet that is never sent may hold objects of the program, so it is released after the lock.
        return lock.withLock { replyLocked(packet, isAdmitted: isAdmitted) }.0
    }

    /// Makes the memory of a reply that can be sent now: without the lock, because that takes as long as there are
    /// bytes. Returns whether the reply was counted.
    ///
    /// - Parameter isNext: whether the reply is the next one to be sent. Called with the lock held.
    private func prepare(_ packet: OutgoingPacket, isNext: () -> Bool) -> Bool {
        guard packet.isInMemory else { return false }
        func admit() -> UntakenReplies.Admission? {
            lock.withLock { state.socket != nil && isNext() ? admitLocked(packet) : nil }
        }
        var admission = admit()
        if admission == .refused || admission == .refusedByAll {
            // Peers may have taken the memory of other connections, which nobody has noticed.
            untaken.recount(of: admission == .refused ? process : nil)
            admission = admit()
        }
        guard admission == .admitted else { return false }
        // A resource that is short now may be there when the reply is sent.
        _ = packet.makeMemory()
        return true
    }

    private func replyLocked(_ packet: OutgoingPacket, isAdmitted: Bool) -> (MessageSocket.Sent, [OutgoingPacket]) {
        guard let socket = state.socket, !state.isEnded, state.waiting.isEmpty else {
            if isAdmitted { untaken.remove(packet.cost, of: process) }
            return state.isEnded ? (.gone, []) : waitLocked(packet)
        }
        let sent = sendLocked(packet, by: socket, isAdmitted: isAdmitted)
        switch sent {
        case .full, .short: return waitLocked(packet, since: sent)
        case .gone: return (.gone, endLocked())
        case .sent, .failed: return (sent, [])
        }
    }

    private func sendLocked(
        _ packet: OutgoingPacket, by socket: MessageSocket, isAdmitted: Bool = false
    ) -> MessageSocket.Sent {
        guard packet.isInMemory else { return socket.send(packet) }
        guard isAdmitted || admitLocked(packet) == .admitted else {
            // No event comes here when the peer takes memory of another connection, so a timer tries again.
            return state.sent == 0 ? .short(errno: ENOBUFS) : .full
        }
        let sent = socket.send(packet)
        if case .sent = sent {
            if state.sent == 0 { untaken.note(self, isUntaken: true) }
            state.sent += packet.cost
        } else {
            untaken.remove(packet.cost, of: process)
        }
        return sent
    }

    /// Whether its peer may have the memory of a reply, which is counted then.
    private func admitLocked(_ packet: OutgoingPacket) -> UntakenReplies.Admission {
        let admission = untaken.admit(packet.cost, to: process)
        if admission == .admitted || !recountLocked() { return admission }
        return untaken.admit(packet.cost, to: process)
    }

    /// Asks the kernel whether the peer has taken all. Returns whether that is new.
    @discardableResult private func recountLocked() -> Bool {
        guard state.sent > 0, state.socket?.isAllTaken != false else { return false }
        untaken.remove(state.sent, of: process)
        state.sent = 0
        untaken.note(self, isUntaken: false)
        return true
    }

    /// Without a lock.
    func recount() { lock.withLock { _ = recountLocked() } }

    /// Returns what will never be sent as well.
    private func waitLocked(
        _ packet: OutgoingPacket, since sent: MessageSocket.Sent? = nil
    ) -> (MessageSocket.Sent, [OutgoingPacket]) {
        // Its caller closes its descriptors now.
        do throws(GRunLoop.MessageRequestError) { try packet.keep() } catch {
            if case .transportError(let errno) = error { return (.failed(errno: errno), []) }
        }
        guard untaken.admit(packet.waiting, for: process) else {
            state.isTurnedAway = true
            return (.gone, endLocked())
        }
        // Another thread's reply was quicker.
        if !state.waiting.isEmpty { packet.closeMemory() }
        state.waiting.append(packet)
        if let sent { watchLocked(sent) }
        return (.sent, [])
    }

    /// Has the watch tell when the first one that waits is to be tried again.
    private func watchLocked(_ sent: MessageSocket.Sent) {
        guard let socket = state.socket else { return }
        if case .full = sent {
            if state.isRoomWatched { return }
            state.isRoomWatched = watch.addRoom(socket.descriptor, number) == 0
            if state.isRoomWatched { return }
        }
        watch.retry(number)
    }

    /// It may be that replies that wait can be sent. Returns whether the connection is closed.
    func sendWaiting() -> Bool {
        while let packet = lock.withLock({ state.waiting.first }), sendFirst(packet) {}
        let isDropped = lock.withLock {
            if state.waiting.isEmpty, state.isRoomWatched, !state.isDropped, let socket = state.socket {
                watch.removeRoom(socket.descriptor)
                state.isRoomWatched = false
            }
            return state.isDropped
        }
        return isDropped && close()
    }

    /// Sends the first reply that waits. Returns whether the next one is to be tried.
    private func sendFirst(_ packet: OutgoingPacket) -> Bool {
        let isAdmitted = prepare(packet) { state.waiting.first === packet }
        // The packet is released after the lock.
        return lock.withLock { sendFirstLocked(packet, isAdmitted: isAdmitted) }.0
    }

    private func sendFirstLocked(_ packet: OutgoingPacket, isAdmitted: Bool) -> (Bool, [OutgoingPacket]) {
        guard let socket = state.socket, state.waiting.first === packet else {
            if isAdmitted { untaken.remove(packet.cost, of: process) }
            return (false, [])
        }
        let result = sendLocked(packet, by: socket, isAdmitted: isAdmitted)
        switch result {
        case .sent:
            untaken.remove(packet.waiting, for: process)
            state.waiting.removeFirst()
        case .full, .short:
            watchLocked(result)
            return (false, [])
        // The client learns that there is no reply, and the replies behind this one are sent.
        case .failed where packet.isReply: packet.decline()
        case .gone, .failed: return (false, endLocked())
        }
        return (true, [])
    }

    // MARK: Its end

    private func endLocked() -> [OutgoingPacket] {
        guard !state.isEnded else { return [] }
        state.isEnded = true
        state.socket?.end()
        for packet in state.waiting { untaken.remove(packet.waiting, for: process) }
        let waiting = state.waiting
        state.waiting = []
        return waiting
    }

    /// The peer is told, and the port has received what there was. Returns whether the connection is closed: not while
    /// the peer keeps memory that was sent to it, which counts until the peer takes it or closes its end.
    func drop() -> Bool {
        _ = lock.withLock { () -> [OutgoingPacket] in
            guard let socket = state.socket, !state.isDropped else { return [] }
            state.isDropped = true
            watch.remove(socket.descriptor)
            return endLocked()
        }
        return close()
    }

    /// ``drop()``, whether the peer keeps memory or not: the port has ended.
    func abandon() {
        _ = drop()
        _ = lock.withLock { closeLocked() }
    }

    /// Closes the descriptor, if the peer has taken all memory. Returns whether it is closed.
    private func close() -> Bool {
        let (isClosed, _) = lock.withLock { () -> (Bool, MessageSocket?) in
            recountLocked()
            guard state.sent > 0 else { return (true, closeLocked()) }
            watchLocked(.full)
            return (false, nil)
        }
        return isClosed
    }

    private func closeLocked() -> MessageSocket? {
        guard let socket = state.socket else { return nil }
        if state.isRoomWatched { watch.removeRoom(socket.descriptor) }
        state.socket = nil
        recountLocked()
        untaken.count(-1, of: process)
        return socket
    }
}

extension OutgoingPacket {
    fileprivate var cost: Int { UntakenReplies.cost(size) }
    fileprivate var waiting: UntakenReplies.Waiting { .init(cost: cost, descriptors: descriptorCount) }
    fileprivate var isReply: Bool { header.kind == PacketKind.reply.rawValue }
}
