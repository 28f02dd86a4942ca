// SPDX-License-Identifier: Apache-2.0
// Receives the replies of a remote port on one loop, while a thread, a task or a request waits for replies on this
// loop.

import GRunLoop
import Glibc

/// Watches the connection of a remote port in those modes of one loop in which a thread, a task or a request waits.
/// Threads: any.
final class ReplyReceiver: @unchecked Sendable {
    let loop: GRunLoop
    fileprivate weak let port: GRunLoop.RemoteMessagePort?
    private var source: GRunLoop.DescriptorSource?
    /// Calls the port's `send()` every 2 ms, while the port's queue of connections is full or a resource is short.
    private let retry: GRunLoop.Timer
    /// The number of the run that now performs `source`, counted from the outermost run, which is 1. The number is 0 if
    /// no run performs `source`. Used on the loop's thread only.
    @exclusivity(unchecked) private(set) var performingRun = 0
    fileprivate let lock = Lock.take()
    @exclusivity(unchecked) private var state: State

    private struct Watched: OptionSet {
        let rawValue: Int
        static let (replies, time) = (Watched(rawValue: 1), Watched(rawValue: 2))
    }

    /// Guarded by the lock.
    private struct State {
        /// Keeps the descriptor open until the source is released or invalid.
        var socket: MessageSocket?
        var isConnected: Bool
        var isShort = false
        /// True after the timer `retry` was added to a mode. Usually the timer is never added.
        var hasRetried = false
        /// The number of waits in each mode. Usually there is one mode.
        var waits: [(mode: GRunLoop.Mode, count: Int)] = []

        /// The events that the reader watches in a mode while a thread or a task waits there.
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
        // A waiting thread or task may keep this object alive, but not the socket.
        _ = lock.withLock { state.socket.take() }
    }

    /// Begins a wait in a mode of the loop, which lasts until ``end(in:)``. If the loop cannot watch for replies in
    /// this mode, throws an error and begins no wait.
    func begin(in mode: GRunLoop.Mode) throws(GRunLoop.MessageRequestError) {
        lock.withLock { state.count(1, in: mode) }
        do throws(GRunLoop.SystemError) { try settle(mode) } catch {
            end(in: mode)
            throw .transportError(errno: error.number)
        }
    }

    func end(in mode: GRunLoop.Mode) {
        lock.withLock { state.count(-1, in: mode) }
        settleOrLog(mode)
    }

    func noteConnected() { changeState { $0.isConnected = true } }

    /// Watches for the condition that unsent messages wait for: room, or the end of a shortage.
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
        for mode in modes { settleOrLog(mode) }
    }

    /// Works like ``settle(_:)``, but logs an error instead of throwing it. After an error, the source is not in the
    /// mode, so a wait in this mode ends only at its timeout.
    private func settleOrLog(_ mode: GRunLoop.Mode) {
        do throws(GRunLoop.SystemError) { try settle(mode) } catch {
            Log.warning("a wait for a reply ends only at its timeout, because the loop cannot watch the port: \(error)")
        }
    }

    /// Makes the source and the timer join or leave a mode, as the waits in the mode require. Another thread may change
    /// the waits meanwhile, so this function repeats until the mode agrees with the waits.
    ///
    /// One wait may name a mode by the mode's own name, and another wait by `.common`. When the last wait under one
    /// name ends, the source and the timer leave the mode, although a wait under the other name continues. So the
    /// source and the timer join the modes of the other waits again.
    private func settle(_ mode: GRunLoop.Mode) throws(GRunLoop.SystemError) {
        guard let source else { return }
        while true {
            let (wanted, hasRetried, hasOthers) = lock.withLock { () -> (Watched, Bool, Bool) in
                let wanted = state.watched(in: mode)
                if wanted.contains(.time) { state.hasRetried = true }
                return (wanted, state.hasRetried, wanted.isEmpty && !state.waits.isEmpty)
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
            if hasOthers { for other in lock.withLock({ state.waits.map(\.mode) }) { try settle(other) } }
            if lock.withLock({ state.watched(in: mode) == wanted }) { return }
        }
    }
}

/// Ends the run in which a thread waits for an exchange, when the exchange makes progress. If the run itself receives
/// the reply, the run ends anyway. This object is needed if another thread or a nested run receives the reply. Threads:
/// any.
final class MessageNews: @unchecked Sendable {
    private let reader: ReplyReceiver
    private let mode: GRunLoop.Mode
    /// The number of the waiting run, counted from the outermost run, which is 1.
    private let run: Int
    // Guarded by the reader's lock.
    @exclusivity(unchecked) private var source: GRunLoop.Source?
    @exclusivity(unchecked) private var isOver = false
    /// The exchange for which the thread waits. Used on that thread only.
    @exclusivity(unchecked) var exchange: MessageExchange?

    init(to reader: ReplyReceiver, in mode: GRunLoop.Mode) {
        self.reader = reader
        self.mode = mode
        run = reader.loop.runCount + 1
    }

    func tell() {
        let isHere = reader.loop.isOfThisThread
        // The waiting run itself is performing the reader's source, and ends after that.
        if isHere, reader.performingRun == run { return }
        // If the waiting run performs `new`, it ends afterwards. If a nested run performs `new`, the closure stops the
        // waiting run.
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
        reader.loop.wakeUpEveryRun()
        if reader.lock.withLock({ isOver }) { source.invalidate() }
    }

    private func endOuterRun() {
        // If the wait is over, another run may have the same number.
        if reader.lock.withLock({ !isOver }) { reader.loop.stopOuterRun(run) }
    }

    /// Cancels the exchange for which the thread waits. Returns false if the exchange is done.
    func cancel() -> Bool {
        guard let exchange, let port = reader.port else { return false }
        return port.cancel(exchange)
    }

    func end() {
        // The exchange's `progress` closure holds this object, so this assignment ends a reference cycle.
        exchange = nil
        let source = reader.lock.withLock {
            isOver = true
            return self.source
        }
        source?.invalidate()
    }
}

extension GRunLoop.SystemError {
    fileprivate var number: Int32 {
        switch self {
        case .limitReached(let errno), .forbidden(_, let errno), .failed(_, let errno, _): errno
        case .notPollable: EPERM
        case .notOpen, .signalRefused, .signalHandled, .notAChild, .statusLost, .unsupported, .forked: EBADF
        }
    }
}
