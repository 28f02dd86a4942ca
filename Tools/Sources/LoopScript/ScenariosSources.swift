// SPDX-License-Identifier: Apache-2.0
// Scenarios of 1.6 and 1.7: version-0 and version-1 sources.

extension Scenario {
    static let sources: [Scenario] = [
        Scenario(
            [82, 83, 85], "schedule and cancel come once for each pair of loop and mode, before the call returns",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .add(.source(0), "default"), .query(.contains(.source(0), "default")), .add(.source(0), "default"),
                    .add(.source(0), "A"), .remove(.source(0), "B"), .remove(.source(0), "A"),
                    .remove(.source(0), "A"), .query(.contains(.source(0), "A")),
                ]),
            gives: """
                schedule S0 in default
                default contains S0: true
                schedule S0 in A
                cancel S0 in A
                A contains S0: false
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [86, 87], "an invalidated source is in no mode, not signalled, and stays so",
            Program(
                sources: [SourceSpec()],
                steps: [
                    .addCommonMode("A"), .add(.source(0), "common"), .add(.source(0), "B"), .signal(0),
                    .invalidate(.source(0)), .query(.isValid(.source(0))), .query(.isSignalled(0)),
                    .query(.contains(.source(0), "default")), .query(.contains(.source(0), "B")),
                    .signal(0), .query(.isSignalled(0)), .add(.source(0), "default"),
                    .query(.contains(.source(0), "default")), .invalidate(.source(0)), .run(),
                ]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                schedule S0 in B
                cancel S0 in A
                cancel S0 in B
                cancel S0 in default
                S0 isValid: false
                S0 isSignalled: false
                default contains S0: false
                B contains S0: false
                S0 isSignalled: false
                default contains S0: false
                run default for 1 gaps @0
                -> finished @0
                """),
        Scenario(
            [88, 89], "signals coalesce, and one from its own perform is for the next pass",
            Program(
                sources: [SourceSpec(order: 0, [[.query(.isSignalled(0)), .signal(0), .signal(0)]])],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 1, observers: 1) + [.signal(0), .signal(0), .signal(0), .run()]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    source S0 @0
                    S0 isSignalled: false
                    observer O0 beforeTimers @0
                    source S0 @0
                    observer O0 beforeTimers @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [90], "sources perform by order, equal ones by their first signal",
            Program(
                sources: [SourceSpec(order: 1), SourceSpec(order: 0), SourceSpec(order: 0), SourceSpec(order: -1)],
                steps: .addAll(sources: 4) + [.signal(0), .signal(2), .signal(1), .signal(3), .signal(2), .poll()]),
            gives: """
                schedule S0 in default
                schedule S1 in default
                schedule S2 in default
                schedule S3 in default
                run default for 0 s @0
                    source S3 @0
                    source S2 @0
                    source S1 @0
                    source S0 @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S1 in default
                at the thread's end: cancel S2 in default
                at the thread's end: cancel S3 in default
                """),
        Scenario(
            [91], "a source signalled by an earlier one performs in the next pass",
            Program(
                sources: [SourceSpec(order: 0, [[.signal(1)]]), SourceSpec(order: 1)],
                observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(sources: 2, observers: 1) + [.signal(0), .run()]),
            gives: """
                schedule S0 in default
                schedule S1 in default
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    source S0 @0
                    observer O0 beforeTimers @0
                    source S1 @0
                    observer O0 beforeTimers @0
                -> timedOut @1
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S1 in default
                """),
        Scenario(
            [93], "a source that an earlier one invalidates does not perform",
            Program(
                sources: [
                    SourceSpec(order: 0, [[.invalidate(.source(1))]]), SourceSpec(order: 1), SourceSpec(order: 2),
                ],
                steps: .addAll(sources: 3) + [.signal(0), .signal(1), .signal(2), .poll()]),
            gives: """
                schedule S0 in default
                schedule S1 in default
                schedule S2 in default
                run default for 0 s @0
                    source S0 @0
                    cancel S1 in default
                    source S2 @0
                -> timedOut @0
                at the thread's end: cancel S0 in default
                at the thread's end: cancel S2 in default
                """),
        Scenario(
            [94, 95], "a signal outlives other modes' runs, removal and adding again",
            Program(
                sources: [SourceSpec(), SourceSpec()],
                steps: [
                    .add(.source(0), "A"), .add(.source(1), "default"), .signal(0), .poll(),
                    .query(.isSignalled(0)), .remove(.source(0), "A"), .query(.isSignalled(0)),
                    .add(.source(0), "A"), .poll("A"), .poll("A"),
                ]),
            gives: """
                schedule S0 in A
                schedule S1 in default
                run default for 0 s @0
                -> timedOut @0
                S0 isSignalled: true
                cancel S0 in A
                S0 isSignalled: true
                schedule S0 in A
                run A for 0 s @0
                    source S0 @0
                -> timedOut @0
                run A for 0 s @0
                -> timedOut @0
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S1 in default
                """),
        Scenario(
            [84], "a source of the common modes is scheduled for each by its name",
            Program(
                sources: [SourceSpec()],
                steps: [.addCommonMode("A"), .add(.source(0), "common"), .addCommonMode("B")]),
            gives: """
                schedule S0 in A
                schedule S0 in default
                schedule S0 in B
                at the thread's end: cancel S0 in A
                at the thread's end: cancel S0 in B
                at the thread's end: cancel S0 in default
                """),
    ]

    static let ports: [Scenario] = [
        Scenario(
            [102, 103], "a port that becomes ready ends the sleep and performs once",
            Program(
                ports: [PortSpec()], timers: [TimerSpec(at: 1, [[.makeReady(0)]])],
                observers: [ObserverSpec(.afterWaiting)],
                steps: .addAll(ports: 1, timers: 1, observers: 1) + [.run(gaps: 2)]),
            gives: """
                run default for 2 gaps @0
                    observer O0 afterWaiting @1
                    timer T0 @1
                    observer O0 afterWaiting @1
                    port P0 @1
                    observer O0 afterWaiting @2
                -> timedOut @2
                """),
        Scenario(
            [104], "ready several times before it is serviced is once",
            Program(
                ports: [PortSpec([[.makeReady(0), .makeReady(0)]])], observers: [ObserverSpec(.beforeTimers)],
                steps: .addAll(ports: 1, observers: 1) + [.makeReady(0), .makeReady(0), .run()]),
            gives: """
                run default for 1 gaps @0
                    observer O0 beforeTimers @0
                    port P0 @0
                    observer O0 beforeTimers @0
                    port P0 @0
                    observer O0 beforeTimers @0
                -> timedOut @1
                """),
        Scenario(
            [106], "a port in two modes performs in the first that runs",
            Program(
                ports: [PortSpec()],
                steps: [
                    .add(.port(0), "default"), .add(.port(0), "A"), .makeReady(0), .run("A", returning: true),
                    .run(returning: true), .makeReady(0), .run(returning: true), .run("A", returning: true),
                ]),
            gives: """
                run A for 1 gaps, returning after a source @0
                    port P0 @0
                -> handledSource @0
                run default for 1 gaps, returning after a source @0
                -> timedOut @1
                run default for 1 gaps, returning after a source @1
                    port P0 @1
                -> handledSource @1
                run A for 1 gaps, returning after a source @1
                -> timedOut @2
                """),
        Scenario(
            [107], "readiness outlives removal and adding again",
            Program(
                sources: [SourceSpec()], ports: [PortSpec()],
                steps: [
                    .add(.source(0), "default"), .add(.port(0), "default"), .makeReady(0), .remove(.port(0), "default"),
                    .run(), .add(.port(0), "default"), .poll(),
                ]),
            gives: """
                schedule S0 in default
                run default for 1 gaps @0
                -> timedOut @1
                run default for 0 s @1
                    port P0 @1
                -> timedOut @1
                at the thread's end: cancel S0 in default
                """),
        Scenario(
            [244], "a port keeps its mode alive although nothing comes, until it is invalid",
            Program(
                ports: [PortSpec()], timers: [TimerSpec(at: 2, [[.invalidate(.port(0))]])],
                steps: .addAll(ports: 1, timers: 1) + [
                    .run(), .run(gaps: 3), .query(.isValid(.port(0))), .add(.port(0), "default"), .run(),
                ]),
            gives: """
                run default for 1 gaps @0
                -> timedOut @1
                run default for 3 gaps @1
                    timer T0 @2
                -> finished @2
                P0 isValid: false
                run default for 1 gaps @2
                -> finished @2
                """),
    ]
}
