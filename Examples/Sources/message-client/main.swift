// SPDX-License-Identifier: Apache-2.0
// A client of message-service: it first waits in a run of the loop, as with Core Foundation, and then with await.

import GRunLoop
import GRunLoopMessagePorts
import Glibc

let (greet, wait): (Int32, Int32) = (1, 2)
let limit: Duration = .seconds(5)

@MainActor func askAsMacProgramsDo(_ service: GRunLoop.RemoteMessagePort, _ name: String) throws {
    // The loop runs until the reply arrives, so timers, sources and GTK go on.
    let reply = try service.request(
        greet, GRunLoop.MessageData(name.utf8), sendTimeout: limit, receiveTimeout: limit)
    print(String(decoding: reply.data, as: UTF8.self))
}

@MainActor func ask(_ service: GRunLoop.RemoteMessagePort) async throws {
    // Two requests at the same time. Each gets its own reply.
    async let slow = service.request(wait, [3], sendTimeout: limit, receiveTimeout: limit)
    async let quick = service.request(wait, [1], sendTimeout: limit, receiveTimeout: limit)
    print(String(decoding: try await quick.data, as: UTF8.self))
    print(String(decoding: try await slow.data, as: UTF8.self))
    do {
        _ = try await service.request(99, [], sendTimeout: limit, receiveTimeout: limit)
    } catch .unanswered {
        print("it does not know message 99")
    }
}

do {
    let service = try GRunLoop.RemoteMessagePort.lookUp("org.example.greeter")
    try askAsMacProgramsDo(service, CommandLine.arguments.dropFirst().first ?? "stranger")
    Task { @MainActor in
        do { try await ask(service) } catch { print("message-client: \(error)") }
        GRunLoop.main.stop()
    }
    GRunLoop.main.run()
} catch {
    print("message-client: \(error)")
    exit(1)
}
