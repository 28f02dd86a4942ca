// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.11 and 1.12: blocks and nested runs.

extension Scenario {
    static let blocks: [Scenario] = [
        Scenario(
            [168, 171, 172], "a step runs the mode's blocks in order and leaves the others, before what it enqueues",
            Program(
                sources: [SourceSpec()], blocks: [[[.block(3), .block(2, in: "A")]], [], [], []],
                steps: .addAll(sources: 1) + [
                    .add(.source(0), "A"), .block(0), .block(1, in: "A"), .block(1), .poll(), .poll("A"), .poll(),
                ]),
            gives: """
                schedule S0 in default
                schedule S0 in A
                run default for 0 s @0
                    block B0 @0
                    block B1 @0
                    block B3 @0
                -> timedOut @0
                run A for 0 s @0
                    block B1 @0
                    block B2 @0
                -> timedOut @0
                run default for 0 s @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [169], "a block wakes nobody: at the latest it runs in the last pass",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.beforeWaiting, [[.block()]])], blocks: [[]],
                steps: .addAll(sources: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeWaiting @0
                    block B0 @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [170], "a block for several modes runs once",
            Program(
                sources: [SourceSpec()], blocks: [[]],
                steps: [
                    .add(.source(0), "A"), .add(.source(0), "default"), .block(0, in: "default", "A"), .poll("A"),
                    .poll(),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                run A for 0 s @0
                    block B0 @0
                -> timedOut @0
                run default for 0 s @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [173], "a nested run in a block does not see the blocks that still wait in this step, but new ones",
            Program(
                sources: [SourceSpec()], blocks: [[[.block(2), .poll()]], [], []],
                steps: [.add(.source(0), "default"), .block(0), .block(1), .poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    block B0 @0
                    run default for 0 s @0
                        block B2 @0
                    -> timedOut @0
                    block B1 @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [174], "a mode with a block only runs it and sleeps until the time is up",
            Program(
                observers: [ObserverSpec(.afterWaiting)], blocks: [[]],
                steps: [.add(.observer(0), "default"), .block(), .run(gaps: 2), .run()]),
            gives: """
                run default for 2 gaps @0
                    block B0 @0
                    observer O0 afterWaiting @2
                -> timedOut @2
                run default for 1 gaps @2
                -> finished @2
                """),
        Scenario(
            [176], "a block makes the mode that it is for",
            Program(
                blocks: [[]], steps: [.block(0, in: "A"), .block(0, in: "B", "C"), .query(.allModes)]),
            gives: """
                allModes: A, B, C, default
                """),
        Scenario(
            [271], "one piece of idle work a pass, as long as beforeWaiting enqueues and wakes",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(
                        .beforeWaiting,
                        [
                            [.signal(0), .wakeUp], [.signal(0), .wakeUp], [.remove(.observer(0), "default")],
                        ])
                ],
                steps: .addAll(sources: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeWaiting @0
                    source S0 @0
                    observer O0 beforeWaiting @0
                    source S0 @0
                    observer O0 beforeWaiting @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
    ]

    static let nestedRuns: [Scenario] = [
        Scenario(
            [179, 180, 181], "every callout may run the loop, in any mode, with an entry and exit of its own",
            Program(
                sources: [SourceSpec(order: 0, [[.poll("A"), .query(.currentMode)]])],
                ports: [PortSpec([[.poll("A")]])], timers: [TimerSpec(at: 0, [[.poll("A"), .poll()]])],
                observers: [ObserverSpec(.entry | .exit, order: -1), ObserverSpec(.beforeTimers, [[.poll("A")]])],
                blocks: [[[.poll("A"), .query(.currentMode)]]],
                steps: .addAll(sources: 1, ports: 1, timers: 1, observers: 2) + [
                    .add(.port(0), "A"), .add(.observer(0), "A"), .block(), .signal(0), .run(),
                    .makeReady(0), .run(returning: true),
                ]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O1 beforeTimers @0
                    run A for 0 s @0
                        observer O0 entry @0
                        observer O0 exit @0
                    -> timedOut @0
                    block B0 @0
                    run A for 0 s @0
                        observer O0 entry @0
                        observer O0 exit @0
                    -> timedOut @0
                    currentMode: default
                    source S0 @0
                    run A for 0 s @0
                        observer O0 entry @0
                        observer O0 exit @0
                    -> timedOut @0
                    currentMode: default
                    observer O1 beforeTimers @0
                    timer T0 @0
                    run A for 0 s @0
                        observer O0 entry @0
                        observer O0 exit @0
                    -> timedOut @0
                    run default for 0 s @0
                        observer O0 entry @0
                        observer O1 beforeTimers @0
                        observer O0 exit @0
                    -> timedOut @0
                    observer O1 beforeTimers @0
                    observer O0 exit @1
                -> timedOut @1
                run default for 1 gaps, returning after a source @1
                    observer O0 entry @1
                    observer O1 beforeTimers @1
                    port P0 @1
                    run A for 0 s @1
                        observer O0 entry @1
                        observer O0 exit @1
                    -> timedOut @1
                    observer O0 exit @1
                -> handledSource @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [182], "a nested run leaves the outer deadline and its returning after a source as they were",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.run(), .signal(0)]])],
                steps: .addAll(sources: 1, timers: 1) + [.run(gaps: 3, returning: true)]),
            gives: """
                schedule S0 in default
                run default for 3 gaps, returning after a source @0
                    timer T0 @0
                    run default for 1 gaps @0
                    -> timedOut @1
                    source S0 @1
                -> handledSource @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [183], "an outer deadline does not cut a nested run short; the outer run is timed out after it",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, [[.run(gaps: 2)]])],
                observers: [ObserverSpec(.exit)],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    timer T0 @0
                    run default for 2 gaps @0
                        observer O0 exit @2
                    -> timedOut @2
                    observer O0 exit @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [24, 183], "a run whose deadline passes in a nested run before its wait does not sleep",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.beforeSources, [[.run(gaps: 2)]])],
                steps: .addAll(sources: 1, observers: 1) + [.run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeSources @0
                    run default for 2 gaps @0
                    -> timedOut @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [179], "runs nest in a mode that is on the stack already",
            Program(
                sources: [
                    SourceSpec(order: 0, [[.signal(0), .poll()], [.signal(0), .poll()], [.query(.currentMode)]])
                ],
                steps: [.add(.source(0), "default"), .signal(0), .poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    source S0 @0
                    run default for 0 s @0
                        source S0 @0
                        run default for 0 s @0
                            source S0 @0
                            currentMode: default
                        -> timedOut @0
                    -> timedOut @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                """),
    ]
}
