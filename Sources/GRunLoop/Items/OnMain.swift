// SPDX-License-Identifier: Apache-2.0
// Items of the main loop: the same initializers for closures of the main actor, which may touch what belongs to it.
//
// The main loop runs on the thread of the main actor, so nothing is scheduled: the closure is called where it stands.
// So it is in a loop of virtual time whose closure is on the main actor, wherever that is. An item that was made with
// `onMain:` and added to another loop stops the program at its first callout, with a message.

extension GRunLoop.Source {
    /// A source of the main loop. See ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        onMain perform: @escaping @MainActor @Sendable () -> Void
    ) {
        self.init(order: order, schedule: schedule, cancel: cancel) { callOnMain(perform) }
    }
}

extension GRunLoop.DescriptorSource {
    /// A descriptor source of the main loop. See ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        onMain handler: @escaping @MainActor @Sendable (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        self.init(descriptor: descriptor, conditions: conditions) { source, ready in
            callOnMain { handler(source, ready) }
        }
    }
}

extension GRunLoop.Timer {
    /// A timer of the main loop. See ``init(fireAt:interval:tolerance:handler:)``.
    public convenience init(
        fireAt: GRunLoop.Instant, interval: Duration = .zero, tolerance: Duration = .zero,
        onMain handler: @escaping @MainActor @Sendable (GRunLoop.Timer) -> Void
    ) {
        self.init(fireAt: fireAt, interval: interval, tolerance: tolerance) { timer in callOnMain { handler(timer) } }
    }

    /// A timer of the main loop. See ``init(interval:repeats:tolerance:handler:)``.
    public convenience init(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        onMain handler: @escaping @MainActor @Sendable (GRunLoop.Timer) -> Void
    ) {
        self.init(interval: interval, repeats: repeats, tolerance: tolerance) { timer in callOnMain { handler(timer) } }
    }
}

extension GRunLoop.Observer {
    /// An observer of the main loop. See ``init(activities:repeats:order:handler:)``.
    public convenience init(
        activities: GRunLoop.Activity, repeats: Bool = true, order: Int = 0,
        onMain handler: @escaping @MainActor @Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void
    ) {
        self.init(activities: activities, repeats: repeats, order: order) { observer, activity in
            callOnMain { handler(observer, activity) }
        }
    }
}

extension GRunLoop {
    /// Enqueues a block of the main actor on the main loop, and wakes it. See ``async(inModes:_:)``.
    ///
    /// Threads: any.
    public static func asyncOnMain(
        inModes names: [Mode] = [.common], _ body: @escaping @MainActor @Sendable () -> Void
    ) {
        main.async(inModes: names) { callOnMain(body) }
    }
}

private func callOnMain(_ body: @MainActor () -> Void) {
    precondition(
        isOnMain,
        "GRunLoop: an onMain closure was called where the main actor is not: its item is in a run loop of another "
            + "thread, or a timer was fired there by hand; use the initializer with a @Sendable closure for it")
    MainActor.assumeIsolated(body)
}

/// The main loop is on the main actor; a loop of virtual time is if its test is. Elsewhere nobody asks libdispatch.
private var isOnMain: Bool {
    guard let loop = ThreadLoops.currentIfAny else { return false }
    return loop.isMain || loop.virtualTime != nil && MainQueue.isCurrent
}
