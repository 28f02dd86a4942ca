// SPDX-License-Identifier: Apache-2.0
// How a remote port's answers come in on one loop: watched for only while somebody waits there.

import CGRun

/// Threads: any.
final class MessageReader: @unchecked Sendable {
    let loop: GRunLoop
    private let source: GRunLoop.DescriptorSource
    /// Tries to connect, while too many others wait to be let in.
    private let retry: GRunLoop.Timer
    private let lock = Lock.take()
    // Guarded by the lock.
    private var isConnected: Bool
    private var watchesForRoom = false
    /// How many wait in each mode.
    private var waits: [GRunLoop.Mode: Int] = [:]

    init(of port: GRunLoop.RemoteMessagePort, on loop: GRunLoop, isConnected: Bool) {
        self.loop = loop
        self.isConnected = isConnected
        // The socket is not closed before the source is gone.
        source = GRunLoop.DescriptorSource(descriptor: port.socket.descriptor) {
            [weak port, socket = port.socket] _, ready in
            defer { withExtendedLifetime(socket) {} }
            guard let port else { return }
            if ready.contains(.writable) { port.send() }
            if ready != .writable { port.receive() }
        }
        retry = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { [weak port] _ in port?.send() }
    }

    deinit { Lock.giveBack(lock) }

    func invalidate() {
        source.invalidate()
        retry.invalidate()
    }

    /// Somebody waits in a mode of the loop.
    func begin(in mode: GRunLoop.Mode) throws(GRunLoop.DescriptorError) {
        lock.withLock { waits[mode, default: 0] += 1 }
        do throws(GRunLoop.DescriptorError) { try settle(mode) } catch {
            end(in: mode)
            throw error
        }
    }

    func end(in mode: GRunLoop.Mode) {
        lock.withLock { waits[mode] = waits[mode] == 1 ? nil : waits[mode].map { $0 - 1 } }
        // Only to join can fail, and that is for whoever has begun.
        try? settle(mode)
    }

    func noteConnected() {
        let modes = lock.withLock {
            isConnected = true
            return Array(waits.keys)
        }
        retry.invalidate()
        for mode in modes {
            do throws(GRunLoop.DescriptorError) { try settle(mode) } catch {
                Log.warning("an answer to a message is not waited for: \(error)")
            }
        }
    }

    private enum Watched { case nothing, connecting, answers }

    private func watched(in mode: GRunLoop.Mode) -> Watched {
        lock.withLock { waits[mode] == nil ? .nothing : isConnected ? .answers : .connecting }
    }

    /// Joins or leaves a mode. Another thread may have changed what is wanted since: who changes it last has it right.
    private func settle(_ mode: GRunLoop.Mode) throws(GRunLoop.DescriptorError) {
        while true {
            let wanted = watched(in: mode)
            switch wanted {
            case .nothing:
                loop.remove(source, forMode: mode)
                loop.remove(retry, forMode: mode)
            case .connecting: loop.add(retry, forMode: mode)
            case .answers: try loop.add(source, forMode: mode)
            }
            if watched(in: mode) == wanted { return }
        }
    }

    /// Something is to be sent and there is no room, or that is over.
    func watchForRoom(_ wanted: Bool) {
        guard lock.withLock({ watchesForRoom != wanted }) else { return }
        source.change(to: wanted ? [.readable, .writable] : .readable)
        lock.withLock { watchesForRoom = wanted }
    }
}
