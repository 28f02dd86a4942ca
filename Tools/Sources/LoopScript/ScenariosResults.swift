// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.2: which result a run ends with.

extension Scenario {
    static let results: [Scenario] = [
        Scenario(
            [25, 40], "a stop ends the run when the pass ends",
            Program(
                timers: [TimerSpec(at: 1, every: 1, [[.stop, .block()]])], observers: [ObserverSpec(.all)],
                blocks: [[]],
                steps: .addAll(timers: 1, observers: 1) + [.run(gaps: 4)]),
            gives: """
                run default for 4 gaps @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    observer O0 beforeWaiting @0
                    observer O0 afterWaiting @1
                    timer T0 @1
                    block B0 @1
                    observer O0 exit @1
                -> stopped @1
                """),
        Scenario(
            [26, 27, 105], "a source ends the run only if it is asked for",
            Program(
                sources: [SourceSpec()], ports: [PortSpec()],
                steps: .addAll(sources: 1, ports: 1) + [
                    .signal(0), .run(returning: true), .makeReady(0), .run(returning: true),
                    .signal(0), .makeReady(0), .run(),
                ]),
            gives: """
                schedule S0 in default
                run default for 1 gaps, returning after a source @0
                    source S0 @0
                -> handledSource @0
                run default for 1 gaps, returning after a source @0
                    port P0 @0
                -> handledSource @0
                run default for 1 gaps @0
                    source S0 @0
                    port P0 @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [28, 178, 205], "timers, blocks and wake-ups are no handled sources",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, every: 1, [[.wakeUp]])],
                observers: [ObserverSpec(.beforeSources, [[.wakeUp]])], blocks: [[]],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.block(), .run(gaps: 2, returning: true)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps, returning after a source @0
                    observer O0 beforeSources @0
                    block B0 @0
                    observer O0 beforeSources @0
                    timer T0 @0
                    observer O0 beforeSources @0
                    timer T0 @1
                    observer O0 beforeSources @1
                    timer T0 @2
                    observer O0 beforeSources @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [29, 30], "a handled source comes before a stop, which is lost",
            Program(
                sources: [SourceSpec(order: 0, [[.stop]])],
                steps: [.add(.source(0), "default"), .signal(0), .run(returning: true), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps, returning after a source @0
                    source S0 @0
                -> handledSource @0
                run default for 1 gaps @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [29, 31], "the time that is up comes before a stop, which is lost",
            Program(
                sources: [SourceSpec()], blocks: [[[.stop]]],
                steps: [.add(.source(0), "default"), .block(), .poll(), .run()]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    block B0 @0
                -> timedOut @0
                run default for 1 gaps @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [29], "a stop comes before an empty mode",
            Program(
                timers: [TimerSpec(at: 0, [[.stop]])],
                steps: [.add(.timer(0), "default"), .run(), .run()]),
            gives: """
                run default for 1 gaps @0
                    timer T0 @0
                -> stopped @0
                run default for 1 gaps @0
                -> finished @0
                """),
        Scenario(
            [32, 33], "zero seconds are one pass without sleeping that services one ready item",
            Program(
                sources: [SourceSpec()], ports: [PortSpec()], observers: [ObserverSpec(.all)], blocks: [[]],
                steps: .addAll(sources: 1, ports: 1, observers: 1) + [
                    .poll(), .signal(0), .makeReady(0), .block(), .poll(), .makeReady(0),
                    .run("default", .negative, returnAfterSourceHandled: true),
                ]),
            gives: """
                schedule S0 in default
                run default for 0 s @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    observer O0 exit @0
                -> timedOut @0
                run default for 0 s @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    block B0 @0
                    source S0 @0
                    port P0 @0
                    observer O0 exit @0
                -> timedOut @0
                run default for -1 s, returning after a source @0
                    observer O0 entry @0
                    observer O0 beforeTimers @0
                    observer O0 beforeSources @0
                    port P0 @0
                    observer O0 exit @0
                -> handledSource @0
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [32], "a pass of zero seconds that empties the mode is timed out, not finished",
            Program(
                timers: [TimerSpec(at: nil)], steps: [.add(.timer(0), "default"), .poll(), .poll()]),
            gives: """
                run default for 0 s @0
                    timer T0 @0
                -> timedOut @0
                run default for 0 s @0
                -> finished @0
                """),
        Scenario(
            [35], "wake-ups do not move the deadline",
            Program(
                sources: [SourceSpec()], timers: [TimerSpec(at: 0, every: 1)],
                observers: [ObserverSpec(.beforeTimers, Array(repeating: [.wakeUp], count: 4))],
                steps: .addAll(sources: 1, timers: 1, observers: 1) + [.run(gaps: 2)]),
            gives: """
                schedule S0 in default
                run default for 2 gaps @0
                    observer O0 beforeTimers @0
                    observer O0 beforeTimers @0
                    observer O0 beforeTimers @0
                    observer O0 beforeTimers @0
                    observer O0 beforeTimers @0
                    timer T0 @0
                    observer O0 beforeTimers @0
                    timer T0 @1
                    observer O0 beforeTimers @1
                    timer T0 @2
                    observer O0 beforeTimers @2
                -> timedOut @2
                at the thread's end: cancel S0 in default
                """),
    ]
}
