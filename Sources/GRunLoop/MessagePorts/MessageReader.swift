// SPDX-License-Identifier: Apache-2.0
// How a remote port's replies come in on one loop: watched for only while somebody waits there.

import CGRun

/// Threads: any.
final class MessageReader: @unchecked Sendable {
    let loop: GRunLoop
    private weak let port: GRunLoop.RemoteMessagePort?
    private var source: GRunLoop.DescriptorSource?
    /// Tries again, while too many others wait to be let in, or something is short.
    private let retry: GRunLoop.Timer
    /// In which run the source is being performed: how many there are. Of the loop's thread; 0 outside.
    @exclusivity(unchecked) private(set) var performingRun = 0
    fileprivate let lock = Lock.take()
    @exclusivity(unchecked) private var state: State

    private struct Watched: OptionSet {
        let rawValue: Int
        static let (replies, time) = (Watched(rawValue: 1), Watched(rawValue: 2))
    }

    /// Guarded by the lock.
    private struct State {
        /// Not closed before the source is gone, or invalid.
        var socket: MessageSocket?
        var isConnected: Bool
        var isShort = false
        /// Whether the timer may be in a mode: as a rule it never was.
        var hasRetried = false
        /// How many wait in each mode: as a rule in one.
        var waits: [(mode: GRunLoop.Mode, count: Int)] = []

        /// The thing that is watched while a thread or a task waits.
        var watched: Watched { !isConnected ? .time : isShort ? [.replies, .time] : .replies }

        func watched(in mode: GRunLoop.Mode) -> Watched { waits.contains { $0.mode == mode } ? watched : [] }

        mutating func count(_ change: Int, in mode: GRunLoop.Mode) {
            guard let index = waits.firstIndex(where: { $0.mode == mode }) else { return waits.append((mode, change)) }
            waits[index].count += change
            if waits[index].count == 0 { waits.remove(at: index) }
        }
    }

    init(of port: GRunLoop.RemoteMessagePort, _ socket: MessageSocket, on loop: GRunLoop, isConnected: Bool) {
        self.loop = loop
        self.port = port
        state = State(socket: socket, isConnected: isConnected)
        retry = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { [weak port] _ in port?.send() }
        source = OwnDescriptorSource(descriptor: socket.descriptor) { [weak self] _, ready in self?.perform(ready) }
    }

    deinit {
        source?.invalidate()
        Lock.giveBack(lock)
    }

    private func perform(_ ready: GRunLoop.DescriptorSource.Conditions) {
        guard let port else { return }
        let outer = performingRun
        performingRun = loop.runCount
        defer { performingRun = outer }
        if ready.contains(.writable) { port.send() }
        if ready != .writable { port.receive() }
    }

    func invalidate() {
        source?.invalidate()
        retry.invalidate()
        // A waiting thread or task does not keep the socket.
        _ = lock.withLock { state.socket.take() }
    }

    /// Somebody waits in a mode of the loop, until ``end(in:)``. If the replies cannot come in there, nobody does.
    func begin(in mode: GRunLoop.Mode) throws(GRunLoop.MessageRequestError) {
        lock.withLock { state.count(1, in: mode) }
        do throws(GRunLoop.DescriptorError) { try settle(mode) } catch {
            end(in: mode)
            throw .transportError(errno: error.number)
        }
    }

    func end(in mode: GRunLoop.Mode) {
        lock.withLock { state.count(-1, in: mode) }
        // Only to join can fail, and that is for whoever has begun.
        try? settle(mode)
    }

    func noteConnected() { changeState { $0.isConnected = true } }

    /// For what the messages wait that are to be sent.
    func watch(for wait: MessageExchanges.Wait) {
        source?.change(to: wait == .room ? [.readable, .writable] : .readable)
        var isShort = false
        if case .shortage = wait { isShort = true }
        changeState { $0.isShort = isShort }
    }

    private func changeState(_ change: (inout State) -> Void) {
        let modes = lock.withLock { () -> [GRunLoop.Mode] in
            let former = state.watched
            change(&state)
            return state.watched == former ? [] : state.waits.map(\.mode)
        }
        for mode in modes {
            do throws(GRunLoop.DescriptorError) { try settle(mode) } catch {
                Log.warning("a reply to a message is not waited for: \(error)")
            }
        }
    }

    /// Joins or leaves a mode. Another thread may have changed what is wanted since: who changes it last has it right.
    private func settle(_ mode: GRunLoop.Mode) throws(GRunLoop.DescriptorError) {
        guard let source else { return }
        while true {
            let (wanted, hasRetried) = lock.withLock { () -> (Watched, Bool) in
                let wanted = state.watched(in: mode)
                if wanted.contains(.time) { state.hasRetried = true }
                return (wanted, state.hasRetried)
            }
            if wanted.contains(.time) {
                loop.add(retry, forMode: mode)
            } else if hasRetried {
                loop.remove(retry, forMode: mode)
            }
            if wanted.contains(.replies) {
                try loop.add(source, forMode: mode)
            } else {
                loop.remove(source, forMode: mode)
            }
            if lock.withLock({ state.watched(in: mode) == wanted }) { return }
        }
    }
}

/// Ends the run of whoever waits with it, where that does not end by itself after a reply: another thread has it, or
/// a nested run. Threads: any.
final class MessageNews: @unchecked Sendable {
    private let reader: MessageReader
    private let mode: GRunLoop.Mode
    /// How many runs there will be while the thread waits.
    private let run: Int
    // Guarded by the reader's lock.
    @exclusivity(unchecked) private var source: GRunLoop.Source?
    @exclusivity(unchecked) private var isOver = false

    init(to reader: MessageReader, in mode: GRunLoop.Mode) {
        self.reader = reader
        self.mode = mode
        run = reader.loop.runCount + 1
    }

    func tell() {
        let isHere = reader.loop.isOfThisThread
        // A run ends after a source was performed, as the reader's is now.
        if isHere, reader.performingRun == run { return }
        // A nested run may perform it: then it ends the one that waits, and that by itself.
        let new = GRunLoop.Source(order: -100) { [weak self] in self?.endOuterRun() }
        let source = reader.lock.withLock { () -> GRunLoop.Source? in
            guard !isOver else { return nil }
            let source = self.source ?? new
            self.source = source
            return source
        }
        guard let source else { return }
        reader.loop.add(source, forMode: mode)
        source.signal()
        if !isHere { reader.loop.wakeUp() }
        if reader.lock.withLock({ isOver }) { source.invalidate() }
    }

    private func endOuterRun() {
        // Another run may have that number by now.
        if reader.lock.withLock({ !isOver }) { reader.loop.stopOuterRun(run) }
    }

    func end() {
        let source = reader.lock.withLock {
            isOver = true
            return self.source
        }
        source?.invalidate()
    }
}

extension GRunLoop.DescriptorError {
    fileprivate var number: Int32 {
        switch self {
        case .invalid: EBADF
        case .notPollable: EPERM
        case .limitReached(let errno), .forbidden(_, let errno), .system(let errno): errno
        }
    }
}
