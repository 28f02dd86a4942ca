// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.3: the order of one pass.

extension Scenario {
    static let passes: [Scenario] = [
        Scenario(
            [40, 41, 44], "an idle pass goes through its stages in order, entry and exit around all passes",
            Program(
                sources: [SourceSpec()], observers: [ObserverSpec(.all)],
                steps: .addAll(sources: 1, observers: 1) + [.wakeUp, .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    observer O0 beforeWaiting @0
                    observer O0 afterWaiting @1
                    observer O0 exit @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [41, 42], "blocks, then sources, then blocks again, then the wait, then a timer that was due all along",
            Program(
                sources: [SourceSpec(order: 0, [[.block(1)]])], timers: [TimerSpec(at: nil)],
                observers: [ObserverSpec(.all)], blocks: [[], []],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.block(0), .signal(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    block B0 @0
                    source S0 @0
                    block B1 @0
                    timer T0 @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    observer O0 beforeWaiting @0
                    observer O0 afterWaiting @1
                    observer O0 exit @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [43, 55], "after a handled source the pass polls: no waiting stages, but one more item",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: nil)], observers: [ObserverSpec(.all)],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.signal(0), .run(returning: true)]),
            gives: """
                schedule S0 in default
                run default for 1 gaps, returning after a source @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    source S0 @0
                    timer T0 @0
                    observer O0 exit @0
                -> handledSource @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [45], "a source that beforeSources or a first block signals performs in the same pass",
            Program(
                sources: [SourceSpec(), SourceSpec()],
                observers: [ObserverSpec(.beforeSources, [[.signal(0)]])], blocks: [[[.signal(1)]]],
                steps: .addAll(sources: 2, observers: 1) + [.block(), .poll()]),
            gives: """
                schedule S0 in default
                schedule S1 in default
                run default for 0 s @0
                    observer O0 beforeSources @0
                    block B0 @0
                    source S0 @0
                    source S1 @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S1 in default
                """),
        Scenario(
            [46], "a source that beforeWaiting signals waits for the next wake-up",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 1)],
                observers: [ObserverSpec(.beforeWaiting, [[.signal(0)]])],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.run(gaps: 2)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps @0
                    observer O0 beforeWaiting @0
                    timer T0 @1
                    source S0 @1
                    observer O0 beforeWaiting @1
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [47], "a block of a timer, a version-1 source or afterWaiting runs later in the same pass",
            Program(
                sources: [SourceSpec()], ports: [PortSpec([[.block(1)]])], timers: [TimerSpec(at: 0, [[.block(0)]])],
                observers: [ObserverSpec(.beforeTimers), ObserverSpec(.afterWaiting, [[.block(2)]])],
                blocks: [[], [], []],
                steps: .addAll(sources: 1, ports: 1, timers: 1, observers: 2) + [.makeReady(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    observer O1 afterWaiting @0
                    port P0 @0
                    block B2 @0
                    block B1 @0
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
            [48], "a block of a first block runs only after the wait",
            Program(
                sources: [SourceSpec()], blocks: [[[.block(1)]], []],
                steps: [.add(.source(0), "default"), .block(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    block B0 @0
                    block B1 @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [49], "a block of beforeWaiting runs only after the wait",
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
            [51, 125, 126], "all timers that are due fire in one pass, in the order of their dates",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 1), TimerSpec(at: 0), TimerSpec(at: nil)],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 1, timers: 3, observers: 1) + [.busy(2), .poll()]),
            gives: """
                schedule S0 in default
                run default for 0 s @2
                    observer O0 beforeTimers @2
                    timer T2 @2
                    timer T1 @2
                    timer T0 @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [54], "with returnAfterSourceHandled one source performs, the other one stays signalled",
            Program(
                sources: [SourceSpec(order: 1), SourceSpec(order: 0)],
                steps: .addAll(sources: 2) + [
                    .signal(0), .signal(1), .run(returning: true), .query(.isSignalled(0)),
                    .query(.isSignalled(1)), .run(returning: true),
                ]),
            gives: """
                schedule S0 in default
                schedule S1 in default
                run default for 1 gaps, returning after a source @0
                    source S1 @0
                -> handledSource @0
                S0 isSignalled: true
                S1 isSignalled: false
                run default for 1 gaps, returning after a source @0
                    source S0 @0
                -> handledSource @0
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S1 in default
                """),
        Scenario(
            [56, 89], "after a handled source there is always another pass before the sleep",
            Program(
                sources: [SourceSpec(order: 0, [[.signal(0)]])],
                observers: [ObserverSpec(.beforeTimers), ObserverSpec(.beforeWaiting)],
                steps: .addAll(sources: 1, observers: 2) + [.signal(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    source S0 @0
                    observer O0 beforeTimers @0
                    source S0 @0
                    observer O0 beforeTimers @0
                    observer O1 beforeWaiting @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [50, 103], "one version-1 source a pass, and a run that returns after a source services one",
            Program(
                ports: [PortSpec(), PortSpec()], observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(ports: 2, observers: 1) + [
                    .makeReady(0), .makeReady(1), .run(returning: true), .run(returning: true),
                    .makeReady(0), .makeReady(1), .run(),
                ]),
            gives: """
                run default for 1 gaps, returning after a source @0
                    observer O0 beforeTimers @0
                    port P0 @0
                -> handledSource @0
                run default for 1 gaps, returning after a source @0
                    observer O0 beforeTimers @0
                    port P1 @0
                -> handledSource @0
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    port P0 @0
                    observer O0 beforeTimers @0
                    port P1 @0
                    observer O0 beforeTimers @0
                -> timedOut @1
                """),
        Scenario(
            [268], "no beforeWaiting in a pass with a handled source, and at the next real one there is",
            Program(
                sources: [SourceSpec()],
                observers: [
                    ObserverSpec(.entry, order: -2_147_483_647),
                    ObserverSpec(.beforeWaiting | .exit, order: 2_147_483_647),
                    ObserverSpec(.entry | .beforeWaiting | .exit),
                ],
                steps: .addAll(sources: 1, observers: 3) + [.signal(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 entry @0
                    observer O2 entry @0
                    source S0 @0
                    observer O2 beforeWaiting @0
                    observer O1 beforeWaiting @0
                    observer O2 exit @1
                    observer O1 exit @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
    ]
}
