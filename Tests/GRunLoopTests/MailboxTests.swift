// SPDX-License-Identifier: Apache-2.0
// A mailbox holds the latest news of a loop until the awaiting task takes it.

import TestSupport
import Testing

@testable import GRunLoop

@Suite struct MailboxTests {
    private func makeTimer() -> GRunLoop.Timer { GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in } }

    @Test("an element is merged with the last element that was not taken; after the end no element arrives")
    func merged() async throws {
        try await withWorker { loop in
            let mailbox = Mailbox<Int>(of: loop) { $0 * 10 + $1 }
            mailbox.open(for: makeTimer())
            for element in 1...3 { mailbox.send(element) }
            let three = await mailbox.next(isolation: nil)
            mailbox.send(4)
            let one = await mailbox.next(isolation: nil)
            mailbox.send(5)
            mailbox.close(.done)
            mailbox.send(6)
            let none = await mailbox.next(isolation: nil)
            #expect(three == 123 && one == 4 && none == nil)
        }
    }

    @Test("nothing keeps a mailbox that was closed before it is opened, and its item is invalid")
    func closedBefore() async throws {
        try await withWorker { loop in
            let seen = Weak<Mailbox<Int>>()
            let timer = makeTimer()
            func closeAndOpen() {
                let mailbox = Mailbox<Int>(of: loop) { _, newer in newer }
                seen.object = mailbox
                mailbox.close(.done)
                mailbox.open(for: timer)
            }
            closeAndOpen()
            #expect(seen.object == nil && !timer.isValid)
        }
    }

    @Test("nothing keeps a closed mailbox, and its item is invalid")
    func letGo() async throws {
        try await withWorker { loop in
            let seen = Weak<Mailbox<Int>>()
            let timer = makeTimer()
            func openAndClose() {
                let mailbox = Mailbox<Int>(of: loop) { _, newer in newer }
                seen.object = mailbox
                mailbox.open(for: timer)
                mailbox.close(.done)
            }
            openAndClose()
            #expect(seen.object == nil && !timer.isValid)
        }
    }

    @Test("all activities that a loop had meanwhile become one element")
    func activitiesOfARun() async throws {
        let iterator = Shared<GRunLoop.Activities.Iterator?>(nil)
        let mayEnd = Flag()
        let thread = LoopThread { loop in
            loop.keepAlive()
            let made = loop.activities([.entry, .beforeTimers, .exit]).makeAsyncIterator()
            loop.run(mode: .default, for: .zero)
            iterator.value = made
            mayEnd.wait()
        }
        #expect(iterator.wait { $0 != nil })
        var found = try #require(iterator.value)
        let activities = await found.next()
        #expect(activities == [.entry, .beforeTimers, .exit])
        mayEnd.set()
        thread.join()
    }
}
