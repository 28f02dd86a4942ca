// SPDX-License-Identifier: Apache-2.0
// Attacks over the wire: bare peers send a message port packets of every kind, and false services send packets to
// clients. Only ended connections may result. Sound packets are handled and get replies, others are not. A good client
// gets a reply after each batch, and no descriptor is left open.

import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

private func refuse() -> Never {
    printToStandardError("usage: grun-wire-fuzz SECONDS SEED\n")
    exit(2)
}

private let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
guard arguments.count == 2, let seconds = arguments[0], (1...86_400).contains(seconds), let seed = arguments[1] else {
    refuse()
}
private let watchdog = Watchdog(.seconds(seconds + 120), "grun-wire-fuzz \(seconds) \(seed): it has not come to an end")
private var figures = (batches: 0, connections: 0, messages: 0, replies: 0)

do {
    let directory = RuntimeDirectory.path + "/grun-ports"
    let service = try Service()
    let path = try socketPath(in: directory)
    let client = try GRunLoop.RemoteMessagePort.lookUp(Service.name)
    let end = GRunLoop.now + .seconds(seconds)
    // Makes everything that is made once and kept, by a replying thread and by a client.
    for id: Int32 in 0...3 {
        _ = try? client.request(id, sendTimeout: .seconds(20), receiveTimeout: .seconds(20))
    }
    let descriptors = openDescriptorCount()
    repeat {
        // Each batch derives its random numbers from the seed and its own number.
        var random = seed &* 0x1_0000_0000 &+ UInt64(figures.batches)
        try batch(service, path, client, &random)
        guard eventually({ openDescriptorCount() <= descriptors }) else {
            throw Finding(text: "\(openDescriptorCount()) descriptors, and there were \(descriptors)")
        }
        figures.batches += 1
    } while GRunLoop.now < end
    service.end()
} catch {
    let text = (error as? Finding)?.text ?? "\(error)"
    printToStandardError("grun-wire-fuzz: seed \(seed), batch \(figures.batches): \(text)\n")
    exit(1)
}
watchdog.disarm()
print(
    "wire fuzz: seed \(seed), \(figures.batches) batches, \(figures.connections) connections, \(figures.messages) "
        + "messages handled, \(figures.replies) false services, no finding")

@MainActor private func batch(
    _ service: Service, _ path: String, _ client: GRunLoop.RemoteMessagePort, _ random: inout UInt64
) throws {
    service.handled.value = [:]
    var (sure, perhaps) = ([Handled: Int](), [Handled: Int]())
    var idle: [Int32] = []
    defer { for socket in idle { close(socket) } }
    for _ in 0..<8 {
        let attack = try PortAttack(path, &random)
        for message in attack.sure { sure[message, default: 0] += 1 }
        for message in attack.perhaps { perhaps[message, default: 0] += 1 }
        if let socket = attack.idle { idle.append(socket) }
    }
    for _ in 0..<4 { _ = try ReplyAttack(&random) }
    figures.connections += 8
    figures.replies += 4
    let good = try askWell(client, &random)
    sure[good, default: 0] += 1
    // Each sound message was handled once, and no other message was.
    let isHandled = service.handled.wait { handled in
        sure.allSatisfy { handled[$0.key, default: 0] >= $0.value }
    }
    for socket in idle { close(socket) }
    idle = []
    // Copies the dictionary, because the thread sanitizer cannot see that no other thread uses the shared one any more.
    let handled = service.handled.update { $0.mapValues { $0 } }
    guard isHandled else {
        throw Finding(text: "not handled: \(sure.filter { handled[$0.key, default: 0] < $0.value })")
    }
    for (message, count) in handled
    where count > sure[message, default: 0] + perhaps[message, default: 0] {
        throw Finding(text: "handled, and not sound or twice: \(message)")
    }
    figures.messages += handled.values.reduce(0, +)
}

/// Makes a request as a good client.
private func askWell(_ client: GRunLoop.RemoteMessagePort, _ random: inout UInt64) throws -> Handled {
    let size = [0, 1000, 65_536, 70_000][Int(wire_below(&random, 4))]
    let data = GRunLoop.MessageData((0..<size).map { _ in UInt8(truncatingIfNeeded: wire_next(&random)) })
    let id = Int32(truncatingIfNeeded: wire_next(&random)) & ~3
    let pipe = Pipe()
    let sent = Handled(id: id, length: UInt64(size), hash: hash(of: data), descriptors: 2)
    do throws(GRunLoop.MessageRequestError) {
        let reply = try client.request(
            id, data, descriptors: [pipe.readEnd, pipe.writeEnd], sendTimeout: .seconds(20),
            receiveTimeout: .seconds(20))
        guard reply.data.elementsEqual(withUnsafeBytes(of: sent.hash) { Array($0) }),
            reply.descriptorCount == (id & 4 == 0 ? 0 : 2)
        else { throw GRunLoop.MessageRequestError.unanswered }
    } catch { throw Finding(text: "a good client was not replied to right: \(error)") }
    return sent
}

private func socketPath(in directory: String) throws -> String {
    guard let stream = opendir(directory) else { throw Finding(text: "no directory of names") }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
        guard Int32(entry.pointee.d_type) == Int32(DT_SOCK) else { continue }
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return directory + "/" + name
    }
    throw Finding(text: "no socket")
}

private func eventually(_ condition: () -> Bool) -> Bool {
    for _ in 0..<10_000 {
        if condition() { return true }
        usleep(1000)
    }
    return false
}
