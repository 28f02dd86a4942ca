// SPDX-License-Identifier: Apache-2.0
// The kinds of items must fit the sizes of the sets that their numbers index.

import Testing

@testable import GRunLoop

@Suite("Kinds of items") struct ItemKindTests {
    @Test("each kind that takes turns has its own counter")
    func counts() {
        let kinds = ItemKind.allCases.filter(ItemKinds.takingTurns.union(.wakeUp).contains)
        for kind in kinds {
            var counts = KindCounts.ones
            counts[kind] = 2
            #expect(kinds.filter { counts[$0] == 2 } == [kind])
            counts.decrease(kind)
            #expect(kinds.allSatisfy { counts[$0] == 1 })
        }
    }

    @Test("each kind, and each activity of an observer, has its own marker")
    func marks() {
        let item = GRunLoop.Observer(activities: .entry) { _, _ in }
        let kinds = ItemKind.allCases.filter { $0 != .observer && $0 != .wakeUp }
        for kind in kinds {
            let mark = CalloutMark(kind, item)
            #expect((mark.kind, mark.activity) == (kind, nil) && mark.object === item)
        }
        let activities: [GRunLoop.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        for activity in activities {
            let mark = CalloutMark(item, activity)
            #expect((mark.kind, mark.activity) == (.observer, activity) && mark.object === item)
        }
    }
}
