// SPDX-License-Identifier: Apache-2.0
// Tests the scheduler without a loop: when a time slice is used up, and which kinds are served then.

import Testing

@testable import GRunLoop

@Suite("The scheduler") struct SchedulerTests {
    private static let second: Nanoseconds = 1_000_000_000

    /// A row that began a second and a half ago and lasts until now.
    private func longRow() -> Scheduler {
        var scheduler = Scheduler()
        scheduler.beginItem(at: .now() - Self.second * 3 / 2)
        _ = scheduler.usesUpSlice(.never, after: .block)
        return scheduler
    }

    @Test("after the slice is used up every query reports it, until the row restarts")
    func staysUsedUp() {
        var scheduler = Scheduler()
        scheduler.beginItem()
        #expect(answers(of: &scheduler, 0) == Array(repeating: true, count: 20))
        scheduler.restartRow()
        // The clock is read after a few items. Until then the scheduler does not know that the slice is over.
        #expect(answers(of: &scheduler, 0).last == true)
        scheduler.restartRow()
        #expect(!answers(of: &scheduler, .never).contains(true))
    }

    @Test("the clock is read at the first item, and then at every eighth short item")
    func shortItems() {
        var scheduler = Scheduler()
        scheduler.beginItem(at: .now() - 2 * Self.second)
        #expect(answers(of: &scheduler, Self.second).first == true)
        scheduler.endRow()
        scheduler.beginItem()
        #expect(!answers(of: &scheduler, Self.second).contains(true))
        // The slice is used up between two readings of the clock.
        #expect(answers(of: &scheduler, 0).prefix(8).contains(true))
    }

    @Test("short items of one kind do not hide a long item of another kind")
    func kindsAreLookedAtApart() {
        var scheduler = longRow()
        #expect(!answers(of: &scheduler, .never, after: .timer).contains(true))
        #expect(answers(of: &scheduler, Self.second, after: .descriptor).first == true)
    }

    @Test("a wait that was a sleep ends the row, and a wait that returned immediately does not")
    func sleeps() {
        let length: Nanoseconds = 4_000_000
        var scheduler = Scheduler()
        scheduler.beginItem(at: 0)
        scheduler.readClock(length, .timer, at: 3_900_000)
        scheduler.noteWait()
        scheduler.beginItem(at: 3_950_000)
        scheduler.readClock(length, .timer, at: 4_010_000)
        #expect(scheduler.isSliceUsedUp)
        scheduler.noteWait()
        scheduler.beginItem(at: 4_200_000)
        #expect(!scheduler.isSliceUsedUp)
        scheduler.readClock(length, .timer, at: 8_100_000)
        #expect(!scheduler.isSliceUsedUp)
    }

    @Test("a host's short iteration between two items counts, a long one does not, and the row continues")
    func waits() {
        let length: Nanoseconds = 4_000_000
        var scheduler = Scheduler()
        scheduler.beginItem(at: 0)
        scheduler.readClock(length, .block, at: 3_000_000)
        scheduler.interruptRow()
        scheduler.beginItem(at: 3_500_000)
        scheduler.readClock(length, .block, at: 3_900_000)
        #expect(!scheduler.isSliceUsedUp)
        scheduler.interruptRow()
        scheduler.beginItem(at: 900_000_000)
        scheduler.readClock(length, .block, at: 900_050_000)
        #expect(!scheduler.isSliceUsedUp)
        scheduler.readClock(length, .block, at: 900_110_000)
        #expect(scheduler.isSliceUsedUp)
    }

    @Test("while no item is called no slice is used up, and no clock is read")
    func nothingCalled() {
        var scheduler = Scheduler()
        #expect(!answers(of: &scheduler, 0).contains(true))
        scheduler.beginItem()
        scheduler.noteWait()
        #expect(!answers(of: &scheduler, 0).contains(true))
    }

    @Test("each kind with a pending turn is served once, and other kinds wait until the last pending turn is over")
    func owedTurns() {
        var scheduler = Scheduler()
        #expect(!scheduler.hasPendingTurns && ItemKind.allCases.allSatisfy(scheduler.mayServe))
        let ready: ItemKinds = [.wakeUp, .timer, .port, .source]
        #expect(scheduler.allowed(of: ready) == ready)

        scheduler.giveTurns(to: [.timer, .source])
        #expect(scheduler.hasPendingTurns && scheduler.allowed(of: ready) == [.timer, .source])
        #expect(scheduler.mayServe(.timer) && !scheduler.mayServe(.port) && !scheduler.mayServe(.block))
        #expect(scheduler.allowed(of: .wakeUp) == .wakeUp, "nothing else is ready")
        scheduler.endTurn(of: .timer)
        #expect(scheduler.pendingTurns == .source && !scheduler.mayServe(.timer))
        // A kind that is not ready any more loses its turn.
        scheduler.endTurn(of: [.source, .context])
        #expect(!scheduler.hasPendingTurns && scheduler.allowed(of: ready) == ready)
    }

    @Test("in the host's turn nothing is served; the pending turns follow in the next dispatch")
    func hostsTurn() {
        var scheduler = Scheduler()
        scheduler.beginDispatch()
        scheduler.yieldToHost(then: .timer)
        #expect(scheduler.isHostsTurn && scheduler.hasPendingTurns)
        #expect(scheduler.allowed(of: [.timer, .wakeUp]).isEmpty)
        #expect(!ItemKind.allCases.contains(where: scheduler.mayServe))
        scheduler.endDispatch()
        #expect(!scheduler.isHostsTurn && scheduler.allowed(of: [.timer, .port]) == .timer)

        // Nothing else was ready, so the next dispatch serves every kind.
        scheduler.endTurn(of: .timer)
        scheduler.yieldToHost(then: [])
        #expect(scheduler.hasPendingTurns && !scheduler.mayServe(.timer))
        scheduler.endDispatch()
        #expect(!scheduler.hasPendingTurns && scheduler.mayServe(.timer))
    }

    @Test("the bit of a kind is its number, and a set contains each kind once")
    func kinds() {
        let sets: [(ItemKind, ItemKinds)] = [
            (.wakeUp, .wakeUp), (.mainQueue, .mainQueue), (.timer, .timer), (.descriptor, .descriptor), (.port, .port),
            (.block, .block), (.source, .source), (.context, .context),
        ]
        for (kind, set) in sets { #expect(ItemKinds(kind) == set && set.contains(kind)) }
        let turns = ItemKind.allCases.filter { ItemKinds.takingTurns.contains($0) }
        #expect(turns == [.mainQueue, .timer, .descriptor, .port, .block, .source, .context])
        #expect(ItemKinds.found == ItemKinds.takingTurns.subtracting([.block, .source]))
    }

    @Test("ready kinds take turns in their order, and so does a kind that is ready alone")
    func order() {
        #expect(ItemKind.port.next(of: [.timer, .mainQueue, .port]) == .mainQueue)
        #expect(ItemKind.mainQueue.next(of: [.timer, .mainQueue, .port]) == .timer)
        #expect(ItemKind.timer.next(of: [.timer, .mainQueue, .port]) == .port)
        for kind in [ItemKind.wakeUp, .mainQueue, .timer, .descriptor, .port] {
            #expect(kind.next(of: ItemKinds(kind)) == kind)
            #expect(kind.next(of: []) == nil)
        }
    }

    @Test("64 passes use memory alone, but none before the first poll, with pending turns, or in a new dispatch")
    func memory() {
        var scheduler = Scheduler()
        #expect(!scheduler.mayServeFromMemory)
        scheduler.noteLook()
        for _ in 0..<15 { scheduler.notePassesFromMemory(4) }
        #expect(scheduler.mayServeFromMemory)
        scheduler.notePassesFromMemory(4)
        #expect(!scheduler.mayServeFromMemory)
        scheduler.noteLook()
        scheduler.giveTurns(to: .port)
        #expect(!scheduler.mayServeFromMemory)
        scheduler.endTurn(of: .port)
        #expect(scheduler.mayServeFromMemory)
        scheduler.beginDispatch()
        #expect(!scheduler.mayServeFromMemory)
    }

    @Test("the epoll's result is valid for one pass; a row of descriptors passes it to the next, and blocks end it")
    func asked() {
        var scheduler = Scheduler()
        scheduler.noteAsked()
        #expect(scheduler.hasAsked)
        scheduler.leavePass()
        #expect(!scheduler.hasAsked)
        scheduler.beginPass()
        #expect(scheduler.hasAsked)
        scheduler.beginPass()
        #expect(!scheduler.hasAsked)
        scheduler.noteAsked()
        scheduler.forgetAsked()
        scheduler.leavePass()
        scheduler.beginPass()
        #expect(!scheduler.hasAsked)
    }

    @Test("the main queue is not polled first after it was served, nor in the first pass")
    func mainQueueFirst() {
        var scheduler = Scheduler()
        #expect(!scheduler.prefersMainQueue)
        scheduler.noteServed(.descriptor)
        #expect(scheduler.prefersMainQueue && scheduler.served == .descriptor)
        scheduler.endDescriptors()
        #expect(scheduler.served == .other)
        scheduler.noteServed(.mainQueue)
        scheduler.endDescriptors()
        #expect(!scheduler.prefersMainQueue)
    }

    private func answers(
        of scheduler: inout Scheduler, _ length: Nanoseconds, after kind: ItemKind = .block
    ) -> [Bool] {
        var answers: [Bool] = []
        for _ in 0..<20 { answers.append(scheduler.usesUpSlice(length, after: kind)) }
        return answers
    }
}
