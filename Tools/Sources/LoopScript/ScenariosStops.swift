// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.4 and 1.5: stop() and wakeUp().

extension Scenario {
    static let stops: [Scenario] = [
        Scenario(
            [57], "a stop outside a run is not remembered",
            Program(sources: [SourceSpec()], steps: [.add(.source(0), "default"), .stop, .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [58, 182], "a stop ends the innermost run only",
            Program(
                sources: [SourceSpec()],
                timers: [TimerSpec(at: 0, [[.run(gaps: 3), .query(.currentMode)]]), TimerSpec(at: 1, [[.stop]])],
                steps: .addAll(sources: 1, timers: 2) + [.run(gaps: 2)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps @0
                    timer T0 @0
                    run default for 3 gaps @0
                        timer T1 @1
                    -> stopped @1
                    currentMode: default
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [59], "a stop before a nested run is the outer run's",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.stop, .run()]])],
                steps: .addAll(sources: 1, timers: 1) + [.run(gaps: 4)]),
            gives: """
                schedule S0 in default
                run default for 4 gaps @0
                    timer T0 @0
                    run default for 1 gaps @0
                    -> timedOut @1
                -> stopped @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [60], "a stop in entry: no pass, but exit",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.all, [[.stop]])],
                steps: .addAll(sources: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O0 exit @0
                -> stopped @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [61], "a stop in beforeWaiting ends the wait at once",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.beforeWaiting, [[.stop]]), ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 2) + [.run(gaps: 3)]),
            gives: """
                schedule S0 in default
                run default for 3 gaps @0
                    observer O0 beforeWaiting @0
                    observer O1 afterWaiting @0
                -> stopped @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [62], "a stop in exit is lost",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.exit, [[.stop]])],
                steps: .addAll(sources: 1, observers: 1) + [.run(), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 exit @1
                -> timedOut @1
                run default for 1 gaps @1
                    observer O0 exit @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [63], "a stop in one of several due timers: the others still fire",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.stop]]), TimerSpec(at: 0)],
                steps: .addAll(sources: 1, timers: 2) + [.busy(1), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @1
                    timer T0 @1
                    timer T1 @1
                -> stopped @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [64], "a stop from another thread ends a run without a limit",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 1) + [
                    .run("default", .forever, returnAfterSourceHandled: false)
                ]),
            gives: """
                schedule S0 in default
                run default for forever @0
                    observer O0 afterWaiting @3
                -> stopped @3
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [60, 65], "a stop before the first pass leaves a wake token, which a nested run meets",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.entry, [[.stop, .run()]]), ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 2) + [
                    .run("default", .forever, returnAfterSourceHandled: false)
                ]),
            gives: """
                schedule S0 in default
                run default for forever @0
                    observer O0 entry @0
                    run default for 1 gaps @0
                        observer O1 afterWaiting @0
                        observer O1 afterWaiting @1
                    -> timedOut @1
                -> stopped @1
                at the thread's end: cancel S0 in default
                """),
    ]

    static let wakeUps: [Scenario] = [
        Scenario(
            [68, 69], "a wake-up outside a run is dropped",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 1) + [.wakeUp, .wakeUp, .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 afterWaiting @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [67, 71], "wake-ups before the wait: it returns at once, once, and another pass follows",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.beforeTimers, [[.wakeUp, .wakeUp], [], [.wakeUp]]),
                    ObserverSpec(.beforeSources, [[.wakeUp]]),
                    ObserverSpec(.beforeWaiting, [[.wakeUp]]), ObserverSpec(.afterWaiting),
                ],
                steps: .addAll(sources: 1, observers: 4) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    observer O1 beforeSources @0
                    observer O2 beforeWaiting @0
                    observer O3 afterWaiting @0
                    observer O0 beforeTimers @0
                    observer O1 beforeSources @0
                    observer O2 beforeWaiting @0
                    observer O3 afterWaiting @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [71], "the poll of a pass with a handled source eats the wake token",
            Program(
                sources: [SourceSpec(order: 0, [[.wakeUp]])],
                observers: [ObserverSpec(.beforeTimers), ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 2) + [.signal(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    source S0 @0
                    observer O0 beforeTimers @0
                    observer O1 afterWaiting @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [70], "a wake-up between afterWaiting and the end of the pass is ignored",
            Program(
                sources: [SourceSpec()], ports: [PortSpec([[.wakeUp]])],
                timers: [TimerSpec(at: 0, [[.wakeUp, .block()]])],
                observers: [ObserverSpec(.beforeTimers), ObserverSpec(.afterWaiting, [[.wakeUp], [.wakeUp]])],
                blocks: [[[.wakeUp]]],
                steps: .addAll(sources: 1, ports: 1, timers: 1, observers: 2) + [.makeReady(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    observer O1 afterWaiting @0
                    port P0 @0
                    observer O0 beforeTimers @0
                    observer O1 afterWaiting @0
                    timer T0 @0
                    block B0 @0
                    observer O0 beforeTimers @0
                    observer O1 afterWaiting @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [72], "a wake-up in entry counts",
            Program(
                sources: [SourceSpec()],
                observers: [ObserverSpec(.entry, [[.wakeUp]]), ObserverSpec(.afterWaiting)],
                steps: .addAll(sources: 1, observers: 2) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O1 afterWaiting @0
                    observer O1 afterWaiting @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [73], "a wake-up that one mode consumed does not wake another",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.beforeSources, [[.wakeUp, .run("A")]]), ObserverSpec(.afterWaiting),
                ],
                steps: [
                    .add(.source(0), "default"), .add(.source(0), "A"), .add(.observer(0), "default"),
                    .add(.observer(1), "default"), .add(.observer(1), "A"), .run(gaps: 2),
                ]),
            gives: """
                schedule S0 in default
                schedule S0 in A
                run default for 2 gaps @0
                    observer O0 beforeSources @0
                    run A for 1 gaps @0
                        observer O1 afterWaiting @0
                        observer O1 afterWaiting @1
                    -> timedOut @1
                    observer O1 afterWaiting @2
                -> timedOut @2
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
    ]
}
