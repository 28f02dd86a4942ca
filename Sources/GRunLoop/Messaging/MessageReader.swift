// SPDX-License-Identifier: Apache-2.0
// How a remote port's replies come in on one loop: watched for only while somebody waits there.

import CGRun

/// Threads: any.
final class MessageReader: @unchecked Sendable {
    let loop: GRunLoop
    private weak let port: GRunLoop.RemoteMessagePort?
    private var source: GRunLoop.DescriptorSource?
    /// Tries to connect, while too many others wait to be let in.
    private let retry: GRunLoop.Timer
    /// In which run the source is being performed: how many there are. Of the loop's thread; 0 outside.
    @exclusivity(unchecked) private(set) var performingRun = 0
    fileprivate let lock = Lock.take()
    @exclusivity(unchecked) private var state: State

    /// Guarded by the lock.
    private struct State {
        var isConnected: Bool
        /// How many wait in each mode: as a rule in one.
        var waits: [(mode: GRunLoop.Mode, count: Int)] = []

        mutating func count(_ change: Int, in mode: GRunLoop.Mode) {
            guard let index = waits.firstIndex(where: { $0.mode == mode }) else { return waits.append((mode, change)) }
            waits[index].count += change
            if waits[index].count == 0 { waits.remove(at: index) }
        }
    }

    init(of port: GRunLoop.RemoteMessagePort, on loop: GRunLoop, isConnected: Bool) {
        self.loop = loop
        self.port = port
        state = State(isConnected: isConnected)
        retry = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { [weak port] _ in port?.send() }
        // The socket is not closed before the source is gone.
        source = OwnDescriptorSource(descriptor: port.socket.descriptor) {
            [weak self, socket = port.socket] _, ready in
            withExtendedLifetime(socket) { self?.perform(ready) }
        }
    }

    deinit { Lock.giveBack(lock) }

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

    func noteConnected() {
        let modes = lock.withLock {
            state.isConnected = true
            return state.waits.map(\.mode)
        }
        retry.invalidate()
        for mode in modes {
            do throws(GRunLoop.DescriptorError) { try settle(mode) } catch {
                Log.warning("a reply to a message is not waited for: \(error)")
            }
        }
    }

    private enum Watched { case nothing, connecting, replies }

    private func watched(in mode: GRunLoop.Mode) -> Watched {
        lock.withLock {
            !state.waits.contains { $0.mode == mode } ? .nothing : state.isConnected ? .replies : .connecting
        }
    }

    /// Joins or leaves a mode. Another thread may have changed what is wanted since: who changes it last has it right.
    private func settle(_ mode: GRunLoop.Mode) throws(GRunLoop.DescriptorError) {
        guard let source else { return }
        while true {
            let wanted = watched(in: mode)
            switch wanted {
            case .nothing:
                loop.remove(source, forMode: mode)
                if retry.isValid { loop.remove(retry, forMode: mode) }
            case .connecting: loop.add(retry, forMode: mode)
            case .replies: try loop.add(source, forMode: mode)
            }
            if watched(in: mode) == wanted { return }
        }
    }

    /// Something is to be sent and there is no room, or that is over.
    func watchForRoom(_ wanted: Bool) { source?.change(to: wanted ? [.readable, .writable] : .readable) }
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
        case .limitReached(let errno), .system(let errno): errno
        }
    }
}
