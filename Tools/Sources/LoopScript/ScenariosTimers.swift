// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.8: timers.

extension Scenario {
    static let timers: [Scenario] = [
        Scenario(
            [112], "a date in the past is shown until the timer fires, which it does at once",
            Program(
                timers: [TimerSpec(at: nil)],
                steps: [
                    .query(.timerDate(0)), .add(.timer(0), "default"), .query(.nextFireDate("default")),
                    .run(gaps: 2), .query(.timerDate(0)),
                ]),
            gives: """
                T0 date: gap -5
                default nextFireDate: gap -5
                run default for 2 gaps @0
                    timer T0 @0
                -> finished @0
                T0 date: none
                """),
        Scenario(
            [117, 118], "a one-shot timer is valid in its callout and cannot be moved from there",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, [[.query(.isValid(.timer(0))), .move(0, 1)]])],
                steps: .addAll(sources: 1, timers: 1) + [
                    .run(), .query(.isValid(.timer(0))), .query(.contains(.timer(0), "default")), .run(gaps: 2),
                ]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    timer T0 @0
                    T0 isValid: true
                -> timedOut @1
                T0 isValid: false
                default contains T0: false
                run default for 2 gaps @1
                -> timedOut @3
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [119, 120], "a repeating timer keeps its phase; what it missed it fires once, late",
            Program(
                timers: [TimerSpec(at: 0, every: 1, [[], [.busy(2)]])],
                steps: [.add(.timer(0), "default"), .run(gaps: 6), .busy(3), .run(), .query(.timerDate(0))]),
            gives: """
                run default for 6 gaps @0
                    timer T0 @0
                    timer T0 @1
                    timer T0 @4
                    timer T0 @5
                    timer T0 @6
                -> timedOut @6
                run default for 1 gaps @9
                    timer T0 @9
                    timer T0 @10
                -> timedOut @10
                T0 date: gap 11
                """),
        Scenario(
            [121], "a one-shot timer that was missed fires late",
            Program(
                timers: [TimerSpec(at: 0)],
                steps: [.add(.timer(0), "default"), .busy(2), .run()]),
            gives: """
                run default for 1 gaps @2
                    timer T0 @2
                -> finished @2
                """),
        Scenario(
            [127], "a timer that comes due in another one's callout fires in a later pass",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.busy(1)]]), TimerSpec(at: 1)],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 1, timers: 2, observers: 1) + [.run(gaps: 2)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps @0
                    observer O0 beforeTimers @0
                    timer T0 @0
                    observer O0 beforeTimers @1
                    timer T1 @1
                    observer O0 beforeTimers @1
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [128], "a due timer that a callout adds fires in the next pass",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, [[.add(.timer(1), "default")]]), TimerSpec(at: nil)],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    timer T0 @0
                    observer O0 beforeTimers @0
                    timer T1 @0
                    observer O0 beforeTimers @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [129], "a due timer that an earlier one invalidates does not fire",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.invalidate(.timer(1))]]), TimerSpec(at: 0)],
                steps: .addAll(sources: 1, timers: 2) + [.busy(1), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @1
                    timer T0 @1
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [130], "a due timer that an earlier one takes out of its only mode does not fire",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, [[.remove(.timer(1), "default")]]), TimerSpec(at: 0)],
                steps: .addAll(sources: 1, timers: 2) + [.busy(1), .run(), .add(.timer(1), "default"), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @1
                    timer T0 @1
                -> timedOut @2
                run default for 1 gaps @2
                    timer T1 @2
                -> timedOut @3
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [131], "a firing timer does not fire in a nested run, another one does",
            Program(
                timers: [TimerSpec(at: 0, every: 1, [[.run(gaps: 2)]]), TimerSpec(at: 1)],
                steps: .addAll(timers: 2) + [.run(gaps: 4)]),
            gives: """
                run default for 4 gaps @0
                    timer T0 @0
                    run default for 2 gaps @0
                        timer T1 @1
                    -> timedOut @2
                    timer T0 @3
                    timer T0 @4
                -> timedOut @4
                """),
        Scenario(
            [132], "a timer that removes itself stays valid and goes on when it is added again",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, every: 1, [[.remove(.timer(0), "default")]])],
                steps: .addAll(sources: 1, timers: 1) + [
                    .run(gaps: 3), .query(.isValid(.timer(0))), .query(.timerDate(0)), .add(.timer(0), "default"),
                    .run(gaps: 2),
                ]),
            gives: """
                schedule S0 in default
                run default for 3 gaps @0
                    timer T0 @0
                -> timedOut @3
                T0 isValid: true
                T0 date: gap 1
                run default for 2 gaps @3
                    timer T0 @3
                    timer T0 @4
                    timer T0 @5
                -> timedOut @5
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [133], "a timer that invalidates itself is through",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, every: 1, [[.invalidate(.timer(0)), .query(.isValid(.timer(0)))]])],
                steps: .addAll(sources: 1, timers: 1) + [.run(gaps: 3), .query(.timerDate(0))]),
            gives: """
                schedule S0 in default
                run default for 3 gaps @0
                    timer T0 @0
                    T0 isValid: false
                -> timedOut @3
                T0 date: none
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [135, 136], "a timer in several modes, or added twice, fires once a date",
            Program(
                timers: [TimerSpec(at: 0, every: 2)],
                steps: [
                    .add(.timer(0), "default"), .add(.timer(0), "default"), .add(.timer(0), "A"), .run(),
                    .run("A"), .run("A"), .query(.nextFireDate("A")), .query(.nextFireDate("default")),
                ]),
            gives: """
                run default for 1 gaps @0
                    timer T0 @0
                -> timedOut @1
                run A for 1 gaps @1
                    timer T0 @2
                -> timedOut @2
                run A for 1 gaps @2
                -> timedOut @3
                A nextFireDate: gap 4
                default nextFireDate: gap 4
                """),
        Scenario(
            [137], "an invalid timer is not added",
            Program(
                timers: [TimerSpec(at: 0)],
                steps: [
                    .invalidate(.timer(0)), .add(.timer(0), "default"), .query(.contains(.timer(0), "default")), .run(),
                ]),
            gives: """
                default contains T0: false
                run default for 1 gaps @0
                -> finished @0
                """),
        Scenario(
            [144], "no wake-up at the date of a timer that is gone",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 1)], observers: [ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.invalidate(.timer(0)), .run(gaps: 2)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps @0
                    observer O0 afterWaiting @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [167], "a timer of the default mode waits while a private mode runs, a common one fires in both",
            Program(
                timers: [TimerSpec(at: 0, every: 1), TimerSpec(at: 0, every: 1)],
                steps: [
                    .addCommonMode("A"), .add(.timer(0), "default"), .add(.timer(1), "common"), .run("A", gaps: 2),
                    .run(gaps: 2),
                ]),
            gives: """
                run A for 2 gaps @0
                    timer T1 @0
                    timer T1 @1
                    timer T1 @2
                -> timedOut @2
                run default for 2 gaps @2
                    timer T0 @2
                    timer T0 @3
                    timer T1 @3
                    timer T0 @4
                    timer T1 @4
                -> timedOut @4
                """),
    ]
}
