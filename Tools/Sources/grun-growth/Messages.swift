// SPDX-License-Identifier: Apache-2.0
// Things that carry values: channels and their senders, notification queues, requests to message ports.

import GRunLoop
import GRunLoopMessagePorts
import TestSupport

enum Messages {
    static let all = channels + notifications + requests

    private static let channels = [
        Kind(name: "channel", count: 4000) { trial in
            let tally = Tally()
            let channels = trial.make { _ in GRunLoop.Channel<Int>() }
            try trial.each("receive") { channels[$0].receive(on: trial.loop) { _ in tally.count += 1 } }
            try trial.each("send") { _ = channels[$0].trySend($0) }
            try trial.all("run") { try trial.runUntilAll(tally) }
            try trial.each("close") { channels[$0].invalidate() }
        },
        Kind(name: "element of a channel", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            let channel = GRunLoop.Channel<Int>()
            channel.receive(on: trial.loop) { _ in tally.count += 1 }
            try trial.each("send") { _ = channel.trySend($0) }
            try trial.all("run") { try trial.runUntilAll(tally) }
            for number in 0..<trial.count { _ = channel.trySend(number) }
            trial.all("close") { channel.invalidate() }
        },
        Kind(name: "sender that waits", count: 1000) { trial in
            let channel = GRunLoop.Channel<Int>(capacity: 1)
            _ = channel.trySend(0)
            let tasks = Tasks()
            try trial.eachAsMade("wait") { number in
                tasks.begin { started in
                    started.signal()
                    _ = await channel.send(number)
                }
            }
            // The tasks end on other threads meanwhile, so only all operations together can be measured.
            trial.all("cancel") {
                for place in trial.places { tasks.cancel(place) }
                tasks.waitForAll()
            }
        },
        Kind(name: "sender that gets room", count: 1000, orders: [.inOrder]) { trial in
            let channel = GRunLoop.Channel<Int>(capacity: 1)
            _ = channel.trySend(0)
            let tasks = Tasks()
            for number in 0..<trial.count {
                tasks.begin { started in
                    started.signal()
                    _ = await channel.send(number)
                }
            }
            let tally = Tally()
            channel.receive(on: trial.loop, inModes: [.default]) { _ in tally.count += 1 }
            trial.all("run") {
                // The tally includes the first element, which was there before.
                while tally.count <= trial.count { _ = trial.loop.run(mode: .default, for: .milliseconds(1)) }
                tasks.waitForAll()
            }
        },
    ]

    private final class Sender: Sendable {}

    private static let notifications = [
        Kind(name: "notification", count: 4000) { trial in
            let tally = Tally()
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            try trial.each("enqueue") { queue.enqueue(.init(name: $0), style: .asap) }
            try trial.each("coalesce") { queue.enqueue(.init(name: $0), style: .asap) }
            try trial.each("dequeue") { queue.dequeue(matching: .init(name: $0)) }
            let observation = queue.observe { _ in tally.count += 1 }
            for name in 0..<trial.count { queue.enqueue(.init(name: name), style: .asap) }
            trial.all("post") {
                while tally.count < trial.count { _ = trial.loop.run(mode: .default, for: .milliseconds(1)) }
            }
            observation.cancel()
        },
        Kind(name: "notification of one name", count: 4000) { trial in
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            let senders = trial.make { _ in Sender() }
            try trial.each("enqueue") { queue.enqueue(.init(name: 1, sender: senders[$0]), style: .asap) }
            try trial.each("dequeue") { queue.dequeue(matching: .init(name: 1, sender: senders[$0])) }
            for sender in senders { queue.enqueue(.init(name: 1, sender: sender), style: .asap) }
            trial.all("dequeue all") { queue.dequeue(matching: .init(name: 1), coalescing: .onName) }
        },
        Kind(name: "notification when idle", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            let observation = queue.observe { _ in trial.noteCall(tally) }
            try trial.each("enqueue") { queue.enqueue(.init(name: $0), style: .whenIdle) }
            trial.all("post") { trial.run() }
            observation.cancel()
        },
        Kind(name: "notification a mode", count: 1000) { trial in
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try trial.each("enqueue") { queue.enqueue(.init(name: $0), style: .asap, inModes: [modes[$0]]) }
            try trial.each("dequeue") { queue.dequeue(matching: .init(name: $0)) }
        },
        Kind(name: "notification queue", count: 2000) { trial in
            let tally = Tally()
            let queues = trial.make { _ in GRunLoop.NotificationQueue<Int, Void>(on: trial.loop) }
            let observations = queues.map { $0.observe { _ in tally.count += 1 } }
            try trial.each("enqueue") { queues[$0].enqueue(.init(name: 1), style: .asap) }
            try trial.each("dequeue") { queues[$0].dequeue(matching: .init(name: 1)) }
            for queue in queues { queue.enqueue(.init(name: 1), style: .asap) }
            trial.all("post") {
                while tally.count < trial.count { _ = trial.loop.run(mode: .default, for: .milliseconds(1)) }
            }
            for observation in observations { observation.cancel() }
        },
        Kind(name: "observation of one name", count: 4000) { trial in
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            var observations: [GRunLoop.Observation] = []
            try trial.eachAsMade("observe") { _ in observations.append(queue.observe(1) { _ in }) }
            try trial.each("cancel") { observations[$0].cancel() }
        },
        Kind(name: "observation of its own name", count: 4000) { trial in
            let queue = GRunLoop.NotificationQueue<Int, Void>(on: trial.loop)
            var observations: [GRunLoop.Observation] = []
            try trial.eachAsMade("observe") { observations.append(queue.observe($0) { _ in }) }
            try trial.each("post") { queue.enqueue(.init(name: $0), style: .now) }
            try trial.each("cancel") { observations[$0].cancel() }
        },
    ]

    private static let requests = [
        Kind(name: "request to a message port", count: 5000, orders: [.reverse, .random]) { trial in
            let replies = Shared<[GRunLoop.MessagePort.Reply]>([])
            let name = RuntimeDirectory.newName("growth")
            let port = try GRunLoop.MessagePort(name) { message in
                if let reply = message.reply { replies.update { $0.append(reply) } }
            }
            let receiver = LoopThread.running()
            try receiver.loop.add(port, forMode: .default)
            let requester = LoopThread.running()
            let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
            let loop = requester.loop
            let (tasks, ended) = (Tasks(), Counter())
            func request(_ number: Int) {
                tasks.begin { started in
                    started.signal()
                    _ = try? await remote.request(
                        Int32(number), sendTimeout: .seconds(60), receiveTimeout: .seconds(60), on: loop,
                        replyMode: .default)
                    ended.increment()
                }
            }
            /// The replies to the last requests, by number.
            func pending() -> [GRunLoop.MessagePort.Reply] {
                guard replies.wait(timeout: .seconds(60), until: { $0.count == trial.count }) else {
                    fatalError("a request did not come")
                }
                return replies.value
            }
            try trial.eachAsMade("request") { request($0) }
            let open = pending()
            try trial.all("reply") {
                for (index, place) in trial.places.enumerated() {
                    try open[place].send([])
                    // A connection holds 1,024 messages that its peer has not read.
                    if index % 500 == 499, !ended.wait(for: index + 1) { fatalError("a reply did not come") }
                }
                tasks.waitForAll()
            }
            replies.value = []
            for number in 0..<trial.count { request(number) }
            _ = pending()
            trial.all("cancel") {
                for place in trial.places { tasks.cancel(trial.count + place) }
                tasks.waitForAll()
            }
            port.invalidate()
            receiver.finish()
            requester.finish()
        }
    ]
}
