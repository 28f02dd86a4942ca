// SPDX-License-Identifier: Apache-2.0
// The slice of time: when a row of items begins and ends, who asks, and what the next one is told.

import Testing

@testable import GRunLoop

@Suite("The time slice") struct TimeSliceTests {
    private static let second: Nanoseconds = 1_000_000_000

    /// A row that has lasted for a second and a half, until now.
    private func longRow() -> TimeSlice {
        var slice = TimeSlice()
        slice.begin(at: .now() - Self.second * 3 / 2)
        _ = slice.isSpent(.never, after: .block)
        return slice
    }

    @Test("that it is used up is known to everyone who asks, until it begins anew")
    func staysUsedUp() {
        var slice = TimeSlice()
        slice.begin()
        #expect(answers(of: &slice, 0) == Array(repeating: true, count: 20))
        slice.restart()
        // The clock is read after a few items: until then nobody knows.
        #expect(answers(of: &slice, 0).last == true)
        slice.restart()
        #expect(!answers(of: &slice, .never).contains(true))
    }

    @Test("the first item is looked at, and where items are short every eighth")
    func shortItems() {
        var slice = TimeSlice()
        slice.begin(at: .now() - 2 * Self.second)
        #expect(answers(of: &slice, Self.second).first == true)
        slice.end()
        slice.begin()
        #expect(!answers(of: &slice, Self.second).contains(true))
        // Used up between two looks.
        #expect(answers(of: &slice, 0).prefix(8).contains(true))
    }

    @Test("short items of one kind do not hide a long one of another")
    func kindsAreLookedAtApart() {
        var slice = longRow()
        #expect(!answers(of: &slice, .never, after: .timer).contains(true))
        #expect(answers(of: &slice, Self.second, after: .descriptor).first == true)
    }

    @Test("a wait of ours that was a sleep ends the row, and one that found something at once does not")
    func sleeps() {
        let length: Nanoseconds = 4_000_000
        var slice = TimeSlice()
        slice.begin(at: 0)
        slice.look(length, .timers, at: 3_900_000)
        slice.noteWait()
        slice.begin(at: 3_950_000)
        slice.look(length, .timers, at: 4_010_000)
        #expect(slice.isOver)
        slice.noteWait()
        slice.begin(at: 4_200_000)
        #expect(!slice.isOver)
        slice.look(length, .timers, at: 8_100_000)
        #expect(!slice.isOver)
    }

    @Test("a host's short iteration between two items counts, and a long one does not, but the row goes on")
    func waits() {
        let length: Nanoseconds = 4_000_000
        var slice = TimeSlice()
        slice.begin(at: 0)
        slice.look(length, .blocks, at: 3_000_000)
        slice.interrupt()
        slice.begin(at: 3_500_000)
        slice.look(length, .blocks, at: 3_900_000)
        #expect(!slice.isOver)
        slice.interrupt()
        slice.begin(at: 900_000_000)
        slice.look(length, .blocks, at: 900_050_000)
        #expect(!slice.isOver)
        slice.look(length, .blocks, at: 900_110_000)
        #expect(slice.isOver)
    }

    @Test("while nothing of ours is called nothing is used up, and no clock is read")
    func nothingCalled() {
        var slice = TimeSlice()
        #expect(!answers(of: &slice, 0).contains(true))
        slice.begin()
        slice.noteWait()
        #expect(!answers(of: &slice, 0).contains(true))
    }

    private func answers(of slice: inout TimeSlice, _ length: Nanoseconds, after kind: ItemKind = .block) -> [Bool] {
        var answers: [Bool] = []
        for _ in 0..<20 { answers.append(slice.isSpent(length, after: kind)) }
        return answers
    }
}
