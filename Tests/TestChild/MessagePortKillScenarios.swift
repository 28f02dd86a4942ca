// SPDX-License-Identifier: Apache-2.0
// The two sides of a message port for scripts/kill-ports, which kills one of them at a system call.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

let messagePortKillScenarios: [String: @Sendable () throws -> Void] = [
    "ports-kill-serve": { try serve(.max) },
    "ports-kill-serve-two": { try serve(2) },
    "ports-kill-ask": { try tell { try askTwice() } },
    "ports-kill-await": { try tell(awaitTwice) },
    "ports-kill-send": { try tell(sendTwice) },
    "ports-kill-check": check,
    "ports-kill-take": { _ = try GRunLoop.MessagePort(name) { _ in } },
    "ports-race": race,
]

private let name = "org.example.kill"
private let limit = Duration.seconds(5)

/// A system call that is found again in a trace.
private func mark(_ what: String) { access("/grun-mark-\(what)", F_OK) }

/// Until it has replied so many.
private func serve(_ count: Int) throws {
    let (loop, replied) = (GRunLoop.current, Counter())
    try warmUp()
    mark("begin")
    let port = try GRunLoop.MessagePort(replying: name) { message in
        replied.increment()
        return message.id == 1 ? message.data : GRunLoop.MessageData("\(openDescriptorCount())".utf8)
    }
    try loop.add(port, forMode: .default)
    say("ready")
    while replied.value < count { loop.run(for: .seconds(3600), returningAfterSourceHandled: true) }
    port.invalidate()
    mark("end")
}

/// What is made once and kept, such as the loop's own descriptors.
private func warmUp() throws {
    let port = try GRunLoop.MessagePort(replying: "org.example.warm.\(getpid())") { $0.data }
    try GRunLoop.current.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
    _ = try remote.request(1, [1], sendTimeout: limit, receiveTimeout: limit)
    remote.invalidate()
    port.invalidate()
}

/// Two messages, with a descriptor, and one of them with much data: both have the right reply, or there is an error in
/// time.
private func tell(_ body: () throws -> Bool) throws {
    try warmUp()
    let before = openDescriptorCount()
    mark("begin")
    let result = Result { try body() }
    mark("end")
    let left = openDescriptorCount() - before
    switch result {
    case .success(let isRight): say(isRight ? "replied" : "replied wrong")
    case .failure(let error): say("error: \(error)")
    }
    say("\(left) descriptors left")
}

private let payloads = [100, 100_000].map { size in
    GRunLoop.MessageData((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
}

private func askTwice() throws -> Bool {
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    defer { remote.invalidate() }
    var isRight = true
    for data in payloads {
        let reply = try remote.request(
            1, data, descriptors: [STDOUT_FILENO], sendTimeout: limit, receiveTimeout: limit)
        isRight = isRight && reply.data.elementsEqual(data)
    }
    return isRight
}

/// Both at once, by tasks that live on the main thread: its system calls are those that are counted.
private func awaitTwice() throws -> Bool {
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    defer { remote.invalidate() }
    let results = Shared<[Result<Bool, any Error>]>([])
    for data in payloads {
        Task { @MainActor in
            do {
                let reply = try await remote.request(
                    1, data, descriptors: [STDOUT_FILENO], sendTimeout: limit, receiveTimeout: limit)
                results.update { $0.append(.success(reply.data.elementsEqual(data))) }
            } catch { results.update { $0.append(.failure(error)) } }
            if results.value.count == payloads.count { GRunLoop.main.stop() }
        }
    }
    GRunLoop.main.run()
    return try results.value.map { try $0.get() }.allSatisfy { $0 }
}

/// Nobody replies: what was sent may be lost with its receiver.
private func sendTwice() throws -> Bool {
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    defer { remote.invalidate() }
    for (data, mode) in zip(payloads, [nil, GRunLoop.Mode.default]) {
        try remote.send(1, data, descriptors: [STDOUT_FILENO], sendTimeout: limit, mode: mode)
    }
    return true
}

/// Whether the service replies, and how many descriptors it has.
private func check() throws {
    guard try askTwice() else { return say("replied wrong") }
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    let reply = try remote.request(2, sendTimeout: limit, receiveTimeout: limit)
    say(String(decoding: reply.data, as: UTF8.self))
}

// MARK: Many want one name

/// Takes the name as often as it can, for GRUN_RACE_ROUNDS takes or until it is killed. A file that is locked by nobody
/// else is the witness: who has the name must get it. And while it has the name, it is found by it: no former owner
/// has removed its socket.
private func race() throws {
    let rounds = getenv("GRUN_RACE_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 50
    let path = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
    let opened = open(path + "/witness", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    // Of who is killed the kernel lets go of the highest number first: of the witness before the name.
    let witness = copyWithHighNumber(opened)
    close(opened)
    let takes = open(path + "/takes", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    // Some are killed at any moment, and some while they have it.
    if Int.random(in: 0..<4) == 0 {
        let moment = UInt32.random(in: 0..<300_000)
        pthread_detach(
            startThread {
                usleep(moment)
                kill(getpid(), SIGKILL)
            })
    }
    var size = stat()
    while fstat(takes, &size) == 0, size.st_size < rounds {
        let port: GRunLoop.MessagePort
        do throws(GRunLoop.MessagePortError) { port = try GRunLoop.MessagePort(name) { _ in } } catch {
            guard case .taken = error else { return say("error: \(error)") }
            usleep(UInt32.random(in: 0..<2000))
            continue
        }
        // Exclusive, and without waiting.
        guard flock(witness, 6) == 0 else { return say("two owners") }
        _ = write(takes, "x", 1)
        if UInt32.random(in: 0..<50) == 0 { kill(getpid(), SIGKILL) }
        do throws(GRunLoop.MessagePortError) { _ = try GRunLoop.RemoteMessagePort.lookUp(name) } catch {
            return say("an owner is not found: \(error)")
        }
        // A child has copies of what the port has, until it is past its first moment.
        let child = UInt32.random(in: 0..<8) == 0 ? fork { 0 } : nil
        sched_yield()
        flock(witness, 8)
        // The name is given up by a rename as well.
        if UInt32.random(in: 0..<4) == 0 { try? port.setName("org.example.kill.\(getpid())") }
        port.invalidate()
        if let child { reap(child) }
    }
}
