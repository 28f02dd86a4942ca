// SPDX-License-Identifier: Apache-2.0
// The process with the port that is attacked.

import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

/// Used on the loop's thread.
private final class Handler: @unchecked Sendable {
    private let blob = GRunLoop.MessageData([UInt8](repeating: 1, count: Size.mebibyte / 2))
    private let slow: GRunLoop.RemoteMessagePort
    private var kept: [GRunLoop.MessagePort.Reply] = []
    private var held: [GRunLoop.MessagePort.Message] = []
    private var depth = 0
    private var deepest = 0
    private var sum = 0

    init(_ slow: GRunLoop.RemoteMessagePort) { self.slow = slow }

    func handle(_ message: GRunLoop.MessagePort.Message) {
        depth += 1
        deepest = max(deepest, depth)
        defer { depth -= 1 }
        switch Request(rawValue: message.id) {
        case .echo: _ = try? message.reply?.send(message.data)
        case .large: _ = try? message.reply?.send(blob)
        case .keep: if let reply = message.reply { kept.append(reply) }
        case .hold: held.append(message)
        case .nest: _ = try? slow.request(1, sendTimeout: .seconds(1), receiveTimeout: .seconds(1))
        case .depth: _ = try? message.reply?.send(GRunLoop.MessageData(withUnsafeBytes(of: deepest) { Array($0) }))
        case .read, nil: read(message.data)
        }
    }

    /// Reads a page at a time, and no more than the program wants.
    private func read(_ data: GRunLoop.MessageData) {
        guard data.count <= Size.mebibyte else { return }
        data.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4096) { sum &+= Int(bytes[offset]) }
        }
    }
}

/// Serves until it is killed.
func serve(_ name: String) throws {
    // The usual limit.
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(1024, limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let worker = LoopThread.running()
    let slow = try GRunLoop.MessagePort(replying: name + ".slow") { _ in
        usleep(500)
        return nil
    }
    try worker.loop.add(slow, forMode: .default)
    let handler = Handler(try .lookUp(name + ".slow"))
    let port = try GRunLoop.MessagePort(name) { handler.handle($0) }
    try GRunLoop.current.add(port, forMode: .default)
    say("ready")
    GRunLoop.current.run()
}
