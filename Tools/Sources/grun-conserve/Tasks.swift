// SPDX-License-Identifier: Apache-2.0
// Swift's concurrency on the loop: jobs of its executor, and a task that awaits the elements of a channel.

import GRunLoop

final class Jobs: Account, @unchecked Sendable {
    private var tickets: [Ticket] = []

    override func act() {
        let ticket = Ticket("job \(tickets.count)")
        tickets.append(ticket)
        Task(executorPreference: loop.executor) { [self] in
            ticket.call()
            run()
        }
    }

    private func run() { program.callout("job") }

    override var open: String? {
        let count = tickets.count { !$0.isCalled }
        return count == 0 ? nil : "\(count) jobs"
    }

    override func close() { tickets = [] }
}

final class Elements: Queues, @unchecked Sendable {
    private var channel: GRunLoop.Channel<(Int, Ticket)>?
    private let sequence = Sequence("the task's channel")

    override func begin() {
        let channel = GRunLoop.Channel<(Int, Ticket)>(capacity: program.random.pick([1, 4, .max]))
        self.channel = channel
        let elements = channel.elements(on: loop, inModes: [.common])
        Task(executorPreference: loop.executor) { [weak self] in
            for await element in elements { self?.receive(element) }
        }
        addQueue(sequence) { send($0, to: channel, of: -1) }
    }

    private func receive(_ element: (Int, Ticket)) {
        element.1.call()
        sequence.deliver(element.0)
        program.callout("element")
    }

    override func leave() {
        channel?.close()
        channel?.invalidate()
    }

    override func close() {
        super.close()
        channel?.invalidate()
        channel = nil
    }
}
