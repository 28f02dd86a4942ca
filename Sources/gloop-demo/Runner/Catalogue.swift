// SPDX-License-Identifier: Apache-2.0
// All scenarios, in the order of the tour.

enum Catalogue {
    static let all: [Scenario] = [
        OnePass.scenario,
        Adapter.scenario,
        Modes.scenario,
        CommonModes.scenario,
        NestedRun.scenario,
        SignalFromThread.scenario,
        TimerGrid.scenario,
        MainQueue.scenario,
        FiveLines.scenario,
        AsyncMain.scenario,
        // Channels creates the executor of the main loop. From then on, a run of the main loop in a common mode does
        // not finish, because the run waits for the executor's jobs.
        Channels.scenario,
        ActorOnALoop.scenario,
        Ticks.scenario,
        Cancellation.scenario,
        VirtualTime.scenario,
        Latency.scenario,
        Hosted.scenario,
        HostedObservers.scenario,
        HostedTracking.scenario,
        HostedNested.scenario,
        GLibSources.scenario,
        EchoServer.scenario,
        Signals.scenario,
        Children.scenario,
        KeepAliveThread.scenario,
        Ports.scenario,
        MessagePorts.scenario,
        IdleWork.scenario,
        IdleQueue.scenario,
        NotificationQueue.scenario,
        Transaction.scenario,
        AutoreleaseOrder.scenario,
        EventRelay.scenario,
        DisplayLink.scenario,
        FlagWait.scenario,
        LoopDescription.scenario,
        Stall.scenario,
    ]

    static func scenario(named name: String) -> Scenario? {
        all.first { $0.name == name }
    }
}
