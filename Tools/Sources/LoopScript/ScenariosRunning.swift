// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.1 and 1.2: what a loop is at first, and when there is something to run.

extension Scenario {
    static let running: [Scenario] = [
        Scenario(
            [5, 6, 198, 199], "a fresh loop has the default mode and runs none",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .query(.allModes), .query(.currentMode), .query(.isWaiting),
                    .query(.contains(.source(0), "X")), .query(.allModes),
                ]),
            gives: """
                allModes: default
                currentMode: none
                isWaiting: false
                X contains S0: false
                allModes: default
                """),
        Scenario(
            [6, 81, 180], "the current mode is the run's, entry and exit included, and nobody waits in a callout",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(
                        .all, Array(repeating: [.query(.currentMode), .query(.isWaiting)], count: 6))
                ],
                steps: .addAll(sources: 1, observers: 1, to: "A") + [.run("A"), .query(.currentMode)]),
            gives: """
                schedule S0 in A
                run A for 1 gaps @0
                    observer O0 entry @0
                    currentMode: A
                    isWaiting: false
                    observer O0 beforeTimers @0
                    currentMode: A
                    isWaiting: false
                    observer O0 beforeSources @0
                    currentMode: A
                    isWaiting: false
                    observer O0 beforeWaiting @0
                    currentMode: A
                    isWaiting: false
                    observer O0 afterWaiting @1
                    currentMode: A
                    isWaiting: false
                    observer O0 exit @1
                    currentMode: A
                    isWaiting: false
                -> timedOut @1
                currentMode: none
                at the thread's end: cancel S0 in A
                """),
        Scenario(
            [7], "at the thread's end each source is cancelled once for each mode",
            Program(
                sources: [SourceSpec(), SourceSpec()],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "common"), .add(.source(1), "B"),
                    .add(.source(1), "default"),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                schedule S1 in B
                schedule S1 in default
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S1 in B
                at the thread's end: cancel S1 in default
                """),
        Scenario(
            [16, 17, 18, 38], "a mode without sources, timers and blocks is finished at once, unobserved",
            Program(
                observers: [ObserverSpec(.all)],
                steps: [
                    .run(), .add(.observer(0), "default"), .run(), .poll(), .run("X"), .query(.allModes),
                ]),
            gives: """
                run default for 1 gaps @0
                -> finished @0
                run default for 1 gaps @0
                -> finished @0
                run default for 0 s @0
                -> finished @0
                run X for 1 gaps @0
                -> finished @0
                allModes: default
                """),
        Scenario(
            [19], "the pseudo mode cannot be run",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.all)],
                steps: [.add(.source(0), "common"), .add(.observer(0), "common"), .run("common")]),
            gives: """
                schedule S0 in default
                run common for 1 gaps @0
                -> finished @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [22, 24], "a timer that is far away keeps the mode running until the time is up",
            Program(
                timers: [TimerSpec(at: 90)],
                steps: [.add(.timer(0), "default"), .run(gaps: 2)]),
            gives: """
                run default for 2 gaps @0
                -> timedOut @2
                """),
        Scenario(
            [23, 117], "the last one-shot timer ends the run",
            Program(
                timers: [TimerSpec(at: 1, [[.query(.isValid(.timer(0)))]])], observers: [ObserverSpec(.all)],
                steps: .addAll(timers: 1, observers: 1) + [.run(gaps: 4), .query(.isValid(.timer(0)))]),
            gives: """
                run default for 4 gaps @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    observer O0 beforeWaiting @0
                    observer O0 afterWaiting @1
                    timer T0 @1
                    T0 isValid: true
                    observer O0 exit @1
                -> finished @1
                T0 isValid: false
                """),
    ]
}
