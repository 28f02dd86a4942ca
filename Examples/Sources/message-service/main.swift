// SPDX-License-Identifier: Apache-2.0
// A service that other programs of the user's find by its name. It greets, and counts for whoever wants to wait.
//
//   swift run --package-path Examples message-service &
//   swift run --package-path Examples message-client world

import GRunLoop
import GRunLoopMessagePorts
import Glibc

let name = "org.example.greeter"
/// What the messages mean: to greet whose name the message has; to reply when so many tenths of a second have passed.
let (greet, wait): (Int32, Int32) = (1, 2)

do {
    let port = try GRunLoop.MessagePort(name) { @MainActor message in
        // Nil if whoever sent it wants no reply.
        guard let reply = message.reply else { return }
        switch message.id {
        case greet:
            let name = String(decoding: message.data, as: UTF8.self)
            _ = try? reply.send(GRunLoop.MessageData("hello, \(name)".utf8))
        case wait:
            // The reply comes later; other messages are handled meanwhile.
            let tenths = Int(message.data.first ?? 0)
            let timer = GRunLoop.Timer(interval: .milliseconds(100 * tenths), repeats: false) { _ in
                _ = try? reply.send(GRunLoop.MessageData("\(tenths) tenths of a second have passed".utf8))
            }
            GRunLoop.main.add(timer, forMode: .default)
        // Let go of without a reply: the one who asked is told.
        default: print("a message \(message.id), of which nothing is known")
        }
    }
    try GRunLoop.main.add(port, forMode: .default)
    let end = try GRunLoop.SignalSource(SIGTERM) { _, _ in GRunLoop.main.stop() }
    try GRunLoop.main.add(end, forMode: .default)
    print("\(name) is there")
    GRunLoop.main.run()
    port.invalidate()
} catch {
    print("message-service: \(error)")
    exit(1)
}
