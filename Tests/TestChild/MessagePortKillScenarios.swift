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

/// Makes a system call that scripts/kill-ports finds in a trace.
private func mark(_ what: String) { access("/grun-mark-\(what)", F_OK) }

/// Serves until it has sent this many replies.
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

/// Makes everything that is made once and kept, such as the loop's own descriptors.
private func warmUp() throws {
    let port = try GRunLoop.MessagePort(replying: "org.example.warm.\(getpid())") { $0.data }
    try GRunLoop.current.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
    _ = try remote.request(1, [1], sendTimeout: limit, receiveTimeout: limit)
    remote.invalidate()
    port.invalidate()
}

/// Prints the result of two messages with a descriptor, one of them with much data. Both must get the right reply, or
/// an error in time.
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

/// Makes both requests in tasks on the main thread, because scripts/kill-ports counts that thread's system calls.
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

/// Sends without a reply, so a killed receiver may lose the messages.
private func sendTwice() throws -> Bool {
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    defer { remote.invalidate() }
    for (data, mode) in zip(payloads, [nil, GRunLoop.Mode.default]) {
        try remote.send(1, data, descriptors: [STDOUT_FILENO], sendTimeout: limit, mode: mode)
    }
    return true
}

/// Prints whether the service replies, and how many descriptors it has.
private func check() throws {
    guard try askTwice() else { return say("replied wrong") }
    let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
    let reply = try remote.request(2, sendTimeout: limit, receiveTimeout: limit)
    say(String(decoding: reply.data, as: UTF8.self))
}

// MARK: Several processes take one name

/// Takes the name repeatedly, for GRUN_RACE_ROUNDS takes or until it is killed. The owner of the name must be able to
/// lock a witness file, so that two owners are noticed. The owner must also find its name, so that a removed socket is
/// noticed.
private func race() throws {
    let rounds = getenv("GRUN_RACE_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 50
    let path = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
    let opened = open(path + "/witness", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    // The kernel closes the highest number of a killed process first, so the witness is unlocked before the name.
    let witness = copyWithHighNumber(opened)
    close(opened)
    let takes = open(path + "/takes", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    // Some processes are killed at any moment, and some while they own the name.
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
        // Takes an exclusive lock without waiting.
        guard flock(witness, 6) == 0 else { return say("two owners") }
        _ = write(takes, "x", 1)
        if UInt32.random(in: 0..<50) == 0 { kill(getpid(), SIGKILL) }
        do throws(GRunLoop.MessagePortError) { _ = try GRunLoop.RemoteMessagePort.lookUp(name) } catch {
            return say("an owner is not found: \(error)")
        }
        // A forked child holds copies of the port's descriptors for its first moment.
        let child = UInt32.random(in: 0..<8) == 0 ? fork { 0 } : nil
        sched_yield()
        flock(witness, 8)
        // A rename also frees the old name.
        if UInt32.random(in: 0..<4) == 0 { try? port.setName("org.example.kill.\(getpid())") }
        port.invalidate()
        if let child { reap(child) }
    }
}
