// SPDX-License-Identifier: Apache-2.0
// Other threads that pass work to the loop: messages, performs, blocks.

import GRunLoop
import Glibc
import LoopScript
import TestSupport

final class Producers: @unchecked Sendable {
    private unowned let program: Program
    private var threads: [pthread_t] = []
    private var sequences: [Sequence] = []
    private var ports: [GRunLoop.Port] = []
    private let blocks = (accepted: Counter(), called: Counter())
    private let running = Counter()
    private let ended = Counter()

    init(_ program: Program) { self.program = program }

    func start() {
        for number in 0..<program.random.number(1...2) { start(number) }
    }

    private func start(_ number: Int) {
        let (messages, performs) = (
            Sequence("messages of producer \(number)"), Sequence("performs of producer \(number)")
        )
        sequences += [messages, performs]
        let port = GRunLoop.Port { [unowned program] message in
            messages.deliver(Int(message.id))
            program.callout("message of a producer")
        }
        ports.append(port)
        program.loop.add(port, forMode: .common)
        let seed = program.settings.seed &* 7 &+ UInt64(number)
        let count = program.random.number(20...60)
        running.increment()
        threads.append(
            startThread { [self, program, loop = program.loop] in
                var random = SplitMix(seed: seed)
                for _ in 0..<count {
                    switch random.number(0...3) {
                    case 0: enqueueBlock(program, loop)
                    case 1:
                        if port.trySend(GRunLoop.PortMessage(id: UInt32(messages.next))) { messages.accept() }
                    case 2: perform(performs, program, loop)
                    default: loop.wakeUp()
                    }
                    if random.chance(30) { usleep(UInt32(random.number(0...400))) }
                }
                ended.increment()
            })
    }

    private func enqueueBlock(_ program: Program, _ loop: GRunLoop) {
        let ticket = Ticket("a block of a producer")
        blocks.accepted.increment()
        loop.async { [unowned program, called = blocks.called] in
            ticket.call()
            called.increment()
            program.calloutOfBlock("block of a producer")
        }
    }

    private func perform(_ sequence: Sequence, _ program: Program, _ loop: GRunLoop) {
        let number = sequence.next
        let ticket = Ticket("perform \(number) of a producer")
        // Counted before the call, because the closure may be called before the call returns.
        sequence.accept()
        do {
            try loop.performOnThread { [unowned program] in
                ticket.call()
                sequence.deliver(number)
                program.callout("perform of a producer")
            }
        } catch {
            Findings.add("performOnThread was refused: \(error)")
        }
    }

    var open: String? {
        joined(
            sequences.map(\.open) + [
                running.value == ended.value ? nil : "producers run",
                blocks.accepted.value == blocks.called.value
                    ? nil : "blocks of producers: \(blocks.called.value) of \(blocks.accepted.value)",
            ])
    }

    func join() {
        for thread in threads { TestSupport.join(thread) }
        for port in ports { port.invalidate() }
    }
}
