// SPDX-License-Identifier: Apache-2.0
// A service that other programs of the user find by its name. It greets, and replies after a requested time.
//
//   swift run --package-path Examples message-service &
//   swift run --package-path Examples message-client world

import GRunLoop
import GRunLoopMessagePorts
import Glibc

let name = "org.example.greeter"
/// The ids of messages: greet the name in the message; reply after this many tenths of a second.
let (greet, wait): (Int32, Int32) = (1, 2)

do {
    let port = try GRunLoop.MessagePort(name) { @MainActor message in
        // Nil if the sender wants no reply.
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
        // The message is released without a reply, so the client gets an error.
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
