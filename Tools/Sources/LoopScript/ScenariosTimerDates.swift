// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.8: the dates of timers.

extension Scenario {
    static let timerDates: [Scenario] = [
        Scenario(
            [122], "a date that is set moves the timer, into the past to fire at once",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 9), TimerSpec(at: 9)],
                steps: .addAll(sources: 1, timers: 2) + [
                    .move(0, 2), .query(.nextFireDate("default")), .run(gaps: 3), .move(1, nil), .run(),
                ]),
            gives: """
                schedule S0 in default
                default nextFireDate: gap 2
                run default for 3 gaps @0
                    timer T0 @2
                -> timedOut @3
                run default for 1 gaps @3
                    timer T1 @3
                -> timedOut @4
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [123], "a date set in the callout of a repeating timer replaces the next one",
            Program(
                timers: [TimerSpec(at: 0, every: 1, [[.move(0, 3)]])],
                steps: [.add(.timer(0), "default"), .run(gaps: 5)]),
            gives: """
                run default for 5 gaps @0
                    timer T0 @0
                    timer T0 @3
                    timer T0 @4
                    timer T0 @5
                -> timedOut @5
                """),
        Scenario(
            [123], "a date in the past set in the callout has the timer fire again in the very next pass",
            Program(
                timers: [TimerSpec(at: 0, every: 4, [[.move(0, nil)], [.move(0, 2)]])],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(timers: 1, observers: 1) + [.run(gaps: 3)]),
            gives: """
                run default for 3 gaps @0
                    observer O0 beforeTimers @0
                    timer T0 @0
                    observer O0 beforeTimers @0
                    timer T0 @0
                    observer O0 beforeTimers @0
                    timer T0 @2
                    observer O0 beforeTimers @2
                -> timedOut @3
                """),
        Scenario(
            [124], "a date set in an invalid timer is ignored",
            Program(
                timers: [TimerSpec(at: 3)],
                steps: [.invalidate(.timer(0)), .move(0, 1), .query(.timerDate(0))]),
            gives: """
                T0 date: none
                """),
        Scenario(
            [143], "the next fire date of a mode is its first timer's, or none",
            Program(
                timers: [TimerSpec(at: 5), TimerSpec(at: 3)],
                steps: [
                    .query(.nextFireDate("default")), .query(.nextFireDate("X")), .query(.allModes),
                    .add(.timer(0), "default"), .query(.nextFireDate("default")), .add(.timer(1), "default"),
                    .query(.nextFireDate("default")), .remove(.timer(1), "default"), .query(.nextFireDate("default")),
                ]),
            gives: """
                default nextFireDate: none
                X nextFireDate: none
                allModes: default
                default nextFireDate: gap 5
                default nextFireDate: gap 3
                default nextFireDate: gap 5
                """),
        Scenario(
            [122, 135], "a date that is set counts in every mode",
            Program(
                timers: [TimerSpec(at: 9)],
                steps: [
                    .add(.timer(0), "default"), .add(.timer(0), "A"), .move(0, 1), .query(.nextFireDate("A")),
                    .run("A", gaps: 2),
                ]),
            gives: """
                A nextFireDate: gap 1
                run A for 2 gaps @0
                    timer T0 @1
                -> finished @1
                """),
        Scenario(
            [122],
            "a run in an afterWaiting observer of a nested run is left out as well, while a timer of that run's mode "
                + "is due",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: nil)],
                observers: [
                    ObserverSpec(.afterWaiting, [[.run(gaps: 1)]]), ObserverSpec(.afterWaiting, [[.run(gaps: 1)]]),
                ],
                steps: [
                    .add(.source(0), "A"), .add(.observer(0), "A"), .add(.timer(0), "default"),
                    .add(.observer(1), "default"),
                    .run("A"),
                ]),
            gives: """
                schedule S0 in A
                run A for 1 gaps @0
                    observer O0 afterWaiting @1
                    run default for 1 gaps @1
                        observer O1 afterWaiting @1
                        skipped (waitedItemGone): run default for 1 gaps
                        timer T0 @1
                    -> finished @1
                -> timedOut @1
                at the thread's end: cancel S0 in A
                """),
    ]
}
