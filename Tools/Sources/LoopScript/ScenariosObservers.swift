// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.9 and 1.10: observers, common modes and common items.

extension Scenario {
    static let observers: [Scenario] = [
        Scenario(
            [145, 269], "observers are called by order, equal ones as they were added",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.beforeTimers, order: 1), ObserverSpec(.beforeTimers),
                    ObserverSpec(.beforeTimers), ObserverSpec(.beforeTimers, order: -1),
                ],
                steps: [.add(.observer(2), "default")] + .addAll(sources: 1, observers: 4) + [.poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O3 beforeTimers @0
                    observer O2 beforeTimers @0
                    observer O1 beforeTimers @0
                    observer O0 beforeTimers @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [146], "an observer is called for its stages only",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.entry | .beforeSources | .exit), ObserverSpec(.beforeWaiting | .afterWaiting),
                ],
                steps: .addAll(sources: 1, observers: 2) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O0 beforeSources @0
                    observer O1 beforeWaiting @0
                    observer O1 afterWaiting @1
                    observer O0 exit @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [147], "an observer that does not repeat is called once in all, valid then, and gone after",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.beforeSources | .exit, repeats: false, [[.query(.isValid(.observer(0)))]])],
                steps: [.add(.source(0), "default"), .add(.observer(0), "default"), .add(.observer(0), "A")] + [
                    .poll(), .query(.isValid(.observer(0))), .query(.contains(.observer(0), "A")), .poll(),
                ]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O0 beforeSources @0
                    O0 isValid: true
                -> timedOut @0
                O0 isValid: false
                A contains O0: false
                run default for 0 s @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [148], "an observer is not called in a nested run of its own callout, others are",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.beforeTimers, [[.poll()]]), ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 1, observers: 2) + [.poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O0 beforeTimers @0
                    run default for 0 s @0
                        observer O1 beforeTimers @0
                    -> timedOut @0
                    observer O1 beforeTimers @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [149, 150], "who is removed during a notification is still called in it, who is invalidated is not",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.beforeTimers, [[.remove(.observer(1), "default"), .invalidate(.observer(2))]]),
                    ObserverSpec(.beforeTimers | .beforeSources), ObserverSpec(.beforeTimers | .beforeSources),
                ],
                steps: .addAll(sources: 1, observers: 3) + [.poll(), .poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O0 beforeTimers @0
                    observer O1 beforeTimers @0
                -> timedOut @0
                run default for 0 s @0
                    observer O0 beforeTimers @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [151], "who is added during a notification is called from the next stage on",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.beforeTimers, [[.add(.observer(1), "default")]]),
                    ObserverSpec(.beforeTimers | .beforeSources, order: 1),
                ],
                steps: [.add(.source(0), "default"), .add(.observer(0), "default"), .poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O0 beforeTimers @0
                    observer O1 beforeSources @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [152, 153], "added twice is once; an observer may be in many modes",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.beforeTimers)],
                steps: [
                    .add(.source(0), "default"), .add(.source(0), "A"), .add(.observer(0), "default"),
                    .add(.observer(0), "default"), .add(.observer(0), "A"), .poll(), .poll("A"),
                    .remove(.observer(0), "A"), .poll("A"), .poll(),
                ]),
            gives: """
                schedule S0 in default
                schedule S0 in A
                run default for 0 s @0
                    observer O0 beforeTimers @0
                -> timedOut @0
                run A for 0 s @0
                    observer O0 beforeTimers @0
                -> timedOut @0
                run A for 0 s @0
                -> timedOut @0
                run default for 0 s @0
                    observer O0 beforeTimers @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [155], "a nested run in entry or exit comes before the other observers of that notification",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.entry | .exit, [[.poll("A")], [.poll("A")]]), ObserverSpec(.entry | .exit)],
                steps: [
                    .add(.source(0), "default"), .add(.source(0), "A"), .add(.observer(0), "default"),
                    .add(.observer(1), "default"), .poll(),
                ]),
            gives: """
                schedule S0 in default
                schedule S0 in A
                run default for 0 s @0
                    observer O0 entry @0
                    run A for 0 s @0
                    -> timedOut @0
                    observer O1 entry @0
                    observer O0 exit @0
                    run A for 0 s @0
                    -> timedOut @0
                    observer O1 exit @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
    ]

    static let commonModes: [Scenario] = [
        Scenario(
            [156, 157, 159], "a mode that becomes common gets the common items, as later it gets new ones",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 9)], observers: [ObserverSpec(.entry)],
                steps: .addAll(sources: 1, timers: 1, observers: 1, to: "common") + [
                    .query(.contains(.source(0), "A")), .addCommonMode("A"), .query(.contains(.source(0), "A")),
                    .query(.contains(.timer(0), "A")), .query(.contains(.observer(0), "A")),
                    .query(.contains(.timer(0), "common")), .poll("A"),
                ]),
            gives: """
                schedule S0 in default
                A contains S0: false
                schedule S0 in A
                A contains S0: true
                A contains T0: true
                A contains O0: true
                common contains T0: true
                run A for 0 s @0
                    observer O0 entry @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [158, 159, 162], "an item that was added to a common mode is no common item",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "default"), .query(.contains(.source(0), "common")),
                    .query(.contains(.source(0), "A")), .remove(.source(0), "common"),
                    .query(.contains(.source(0), "default")),
                ]),
            gives: """
                schedule S0 in default
                common contains S0: false
                A contains S0: false
                default contains S0: true
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [160], "a common item removed from one mode stays one, and comes to new common modes",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "common"), .remove(.source(0), "A"),
                    .query(.contains(.source(0), "common")), .query(.contains(.source(0), "default")),
                    .query(.contains(.source(0), "A")), .addCommonMode("B"),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                cancel S0 in A
                common contains S0: true
                default contains S0: true
                A contains S0: false
                schedule S0 in B
                at the thread's end: cancel S0 in B
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [161], "a common item removed from the common modes leaves those, and no other mode",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "common"), .add(.source(0), "B"),
                    .remove(.source(0), "common"), .query(.contains(.source(0), "common")),
                    .query(.contains(.source(0), "A")), .query(.contains(.source(0), "B")),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                schedule S0 in B
                cancel S0 in A
                cancel S0 in default
                common contains S0: false
                A contains S0: false
                B contains S0: true
                at the thread's end: cancel S0 in B
                """),
        Scenario(
            [163, 164], "a common mode without common items is no mode yet, and becomes common once",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .addCommonMode("A"), .query(.allModes), .poll("A"), .add(.source(0), "common"), .query(.allModes),
                    .addCommonMode("A"),
                ]),
            gives: """
                allModes: default
                run A for 0 s @0
                -> finished @0
                schedule S0 in A
                schedule S0 in default
                allModes: A, default
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [165, 170], "a block of the common modes runs once, in whichever runs first",
            Program(
                sources: [SourceSpec()], blocks: [[], []],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "common"), .add(.source(0), "B"), .block(0, in: "common"),
                    .block(1, in: "B", "common"), .poll("B"), .poll("A"), .poll(),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                schedule S0 in B
                run B for 0 s @0
                    block B1 @0
                -> timedOut @0
                run A for 0 s @0
                    block B0 @0
                -> timedOut @0
                run default for 0 s @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in B
                at the thread's end: cancel S0 in default
                """),
    ]
}
