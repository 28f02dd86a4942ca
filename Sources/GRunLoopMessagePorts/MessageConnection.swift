// SPDX-License-Identifier: Apache-2.0
// The connection of a message port to one peer: its socket, and the replies that the peer has not taken yet.

import GRunLoop
import Glibc

/// Sends replies to one peer, and gives access to the socket from which the port reads the peer's messages.
///
/// A connection ends in three steps. After `endLocked()` the connection sends no more packets. After ``drop()`` it also
/// receives no more packets. ``close()`` closes the descriptor if the peer has taken all memory, even if a
/// ``MessagePort/Reply`` still holds this object. Threads: any.
final class MessageConnection: @unchecked Sendable {
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
        /// Nil after the connection was closed. A thread that uses the socket in a system call holds its own reference.
        var socket: MessageSocket?
        /// The replies that wait, in the order in which they are to be sent.
        var waiting: [OutgoingPacket] = []
        /// The bytes of memory that the port has sent and that the peer had not taken at the last recount.
        var sent = 0
        var isRoomWatched = false
        /// True while the port does not read from the peer: see ``pauseIfUsedUp()``.
        var isPaused = false
        var isEnded = false
        /// True if the port ended the connection because the peer does not take its replies.
        var isEndedForUntakenReplies = false
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
        /// The connection is closed, or the port does not read from the peer at present.
        case none
        /// The port has ended the connection because the peer does not take its replies. The port does not handle the
        /// waiting requests of the peer, because the peer would not take the replies.
        case refused
    }

    var input: Input {
        lock.withLock {
            if state.isEndedForUntakenReplies { return .refused }
            guard let socket = state.socket, !state.isPaused else { return .none }
            return .socket(socket)
        }
    }

    /// Stops reading from a peer whose messages hold too many resources of this process, until messages are released.
    /// Returns whether the port has stopped reading from this peer.
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

    func reply(_ packet: OutgoingPacket) -> MessageSocket.Sent {
        let isAdmitted = prepare(packet) { state.waiting.isEmpty && !state.isEnded }
        // A packet that is never sent may hold objects of the program, so it is released after unlocking.
        return lock.withLock { replyLocked(packet, isAdmitted: isAdmitted) }.0
    }

    /// If the reply can be sent now and its data is sent as shared memory, makes this memory and copies the data into
    /// it. Called without the lock, because the copy takes longer for larger data. Returns whether the memory was
    /// counted as untaken.
    ///
    /// - Parameter isNext: whether the reply is the next one to be sent. Called with the lock held.
    private func prepare(_ packet: OutgoingPacket, isNext: () -> Bool) -> Bool {
        guard packet.isInMemory else { return false }
        func admit() -> UntakenReplies.Admission? {
            lock.withLock { state.socket != nil && isNext() ? admitLocked(packet) : nil }
        }
        var admission = admit()
        if admission == .refused || admission == .refusedByAll {
            // Since the last recount, peers may have received messages of other connections, and so freed memory.
            untaken.recount(of: admission == .refused ? process : nil)
            admission = admit()
        }
        guard admission == .admitted else { return false }
        // An error is ignored, because the send tries again to make missing memory.
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
            // A connection without untaken memory gets no event when a peer takes the memory of another connection. So
            // a timer triggers the next try.
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

    /// Counts the memory of a reply, unless a limit of the peer's process or of all processes would be exceeded. Before
    /// this function refuses, it asks the kernel whether the peer has taken the memory that was sent.
    private func admitLocked(_ packet: OutgoingPacket) -> UntakenReplies.Admission {
        let admission = untaken.admit(packet.cost, to: process)
        if admission == .admitted || !recountLocked() { return admission }
        return untaken.admit(packet.cost, to: process)
    }

    /// If the kernel reports that the peer has taken all memory, resets the count of untaken memory. Returns whether
    /// the count was reset.
    @discardableResult private func recountLocked() -> Bool {
        guard state.sent > 0, state.socket?.isAllTaken != false else { return false }
        untaken.remove(state.sent, of: process)
        state.sent = 0
        untaken.note(self, isUntaken: false)
        return true
    }

    /// If the peer has taken all memory, resets the count of untaken memory. Call this function without the lock of any
    /// connection.
    func recount() { lock.withLock { _ = recountLocked() } }

    /// Queues a reply. If the peer does not take its replies, ends the connection instead. Also returns the packets
    /// that will never be sent, which the caller releases after unlocking.
    private func waitLocked(
        _ packet: OutgoingPacket, since sent: MessageSocket.Sent? = nil
    ) -> (MessageSocket.Sent, [OutgoingPacket]) {
        // The program may close its descriptors as soon as ``MessagePort/Reply/send(_:descriptors:)`` returns, so the
        // packet needs copies.
        do throws(GRunLoop.MessageRequestError) { try packet.keep() } catch {
            if case .transportError(let errno) = error { return (.failed(errno: errno), []) }
        }
        guard untaken.admit(packet.waiting, for: process) else {
            state.isEndedForUntakenReplies = true
            return (.gone, endLocked())
        }
        // If another thread has queued a reply first, this reply waits behind that reply, and needs no descriptor for
        // its memory meanwhile.
        if !state.waiting.isEmpty { packet.closeMemory() }
        state.waiting.append(packet)
        if let sent { watchLocked(sent) }
        return (.sent, [])
    }

    /// Makes the watch report when to retry the first waiting reply: when there is room, or within 50 ms.
    private func watchLocked(_ sent: MessageSocket.Sent) {
        guard let socket = state.socket else { return }
        if case .full = sent {
            if state.isRoomWatched { return }
            state.isRoomWatched = watch.addRoom(socket.descriptor, number) == 0
            if state.isRoomWatched { return }
        }
        watch.retry(number)
    }

    /// Sends the waiting replies, as far as that is possible. Returns whether the connection is closed.
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

    /// Sends the first waiting reply. Returns whether to try the next reply.
    private func sendFirst(_ packet: OutgoingPacket) -> Bool {
        let isAdmitted = prepare(packet) { state.waiting.first === packet }
        // The packet is released after unlocking.
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
        // Replaces the reply by a packet that tells the client that there is no reply. Then the next replies can be
        // sent.
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

    /// Ends the connection: the port sends and reads no more packets, and the peer notices the end. Returns whether the
    /// descriptor is closed. The descriptor stays open while the peer has not taken all memory that was sent to it.
    /// The memory counts as untaken until the peer takes it or closes its end of the connection.
    func drop() -> Bool {
        _ = lock.withLock { () -> [OutgoingPacket] in
            guard let socket = state.socket, !state.isDropped else { return [] }
            state.isDropped = true
            watch.remove(socket.descriptor)
            return endLocked()
        }
        return close()
    }

    /// Ends and closes the connection because the port has ended, even if the peer has not taken all memory: see
    /// ``drop()``.
    func abandon() {
        _ = drop()
        _ = lock.withLock { closeLocked() }
    }

    /// Closes the descriptor if the peer has taken all memory. Returns whether the descriptor is closed.
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
