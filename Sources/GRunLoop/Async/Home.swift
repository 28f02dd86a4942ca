// SPDX-License-Identifier: Apache-2.0
// Finds the home of an actor, checks that the actor's closures are called at this home, and releases the closures
// there.

import CGRun

extension Home {
    /// Finds the home of an actor. The caller must run on this actor.
    init(of actor: any Actor) {
        let executor = actor.unownedExecutor.asSerialExecutor()
        if let loop = (executor as? GRunLoop.Executor)?.loopOfThisThread {
            self = .thread(of: loop)
        } else if let executor = executor as? GRunLoop.Executor, executor.isRunningLateJob {
            self = .lateJobs(of: executor)
        } else if let executor, executor === MainActor.sharedUnownedExecutor.asSerialExecutor(),
            // Also checks the thread, because an actor's `unownedExecutor` can change. Then the caller runs on another
            // executor.
            cgrun_is_main_thread() || MainQueue.isGivenAway
        {
            // Checks the isolation here, because in a release build Swift's own check ends the process without a
            // message.
            if !MainQueue.isCurrent {
                Log.fatal(
                    "libdispatch runs the main queue on another thread, so no item or delayed call with a main-actor "
                        + "closure can be made here. Run this code in a block of the main queue")
            }
            self = .mainActor
        } else {
            Log.fatal(
                "an item or a delayed call has a closure of an actor that runs on no run loop. Give the actor a "
                    + "GRunLoop.Executor, or pass a @Sendable closure")
        }
    }

    /// Returns whether an item whose closure has this home may be added to the loop. A loop of virtual time may replace
    /// the home's loop, but only on the home's thread.
    func admits(_ loop: GRunLoop) -> Bool {
        switch self {
        case .mainActor: loop.isMain || loop.isInVirtualTime && loop.isCurrent && MainQueue.isCurrent
        case .thread(let home): loop === home || loop.isInVirtualTime && loop.isCurrent && home.isOfThisThread
        // The item may be added only to a loop that has ended, because an ended loop ignores every item.
        case .lateJobs: loop.isDead
        }
    }

    /// Ends the process if ``admits(_:)`` returns false for the loop. The caller may hold a lock.
    func require(_ loop: GRunLoop, for item: StaticString) {
        guard !admits(loop) else { return }
        Log.fatal(
            "the closure of this \(item) belongs to an actor that does not run on this run loop. Add the item to the "
                + "actor's run loop, or pass a @Sendable closure")
    }

    /// Ends the process if the calling thread must not call a closure of this home.
    func requireHere() {
        guard mayCall else {
            Log.fatal(
                "a closure of an actor was called on a thread where the actor does not run. Call fire() on the thread "
                    + "of the timer's loop, add an idle queue only to the actor's loop, or pass a @Sendable closure")
        }
        // If libdispatch runs the main queue on another thread, the main loop's thread is not the main actor's thread.
        if case .mainActor = self { MainActor.preconditionIsolated() }
    }

    private var mayCall: Bool {
        switch self {
        // The main loop is the usual case. Checking for it first saves a call to libdispatch.
        case .mainActor:
            guard let loop = ThreadLoops.currentIfAny else { return false }
            return loop.isMain || loop.isInVirtualTime && MainQueue.isCurrent
        case .thread(let home): return home.isOfThisThread
        case .lateJobs(let executor): return executor.isIsolatingCurrentContext() == true
        }
    }

    /// The place where a closure must be released. The release may run deinits of captured objects, and these deinits
    /// are code of the actor.
    private enum Place {
        case here
        case thread(of: GRunLoop)
        /// The main queue, which libdispatch runs on its own threads.
        case mainQueue
        /// The closure's home no longer exists, so the closure is leaked.
        case nowhere
    }

    private var place: Place {
        // A forked child has only one thread, so this thread must release the closure.
        if Fork.isChild { return .here }
        switch self {
        case .mainActor where MainQueue.isGivenAway: return cgrun_is_on_main_queue() ? .here : .mainQueue
        case .mainActor where cgrun_is_main_thread(): return .here
        case .mainActor: return ThreadLoops.main.isDead ? .nowhere : .thread(of: ThreadLoops.main)
        case .thread(let loop):
            return loop.isOfThisThread ? .here : loop.isDead ? .nowhere : .thread(of: loop)
        case .lateJobs(let executor): return executor.isIsolatingCurrentContext() == true ? .here : .nowhere
        }
    }

    /// Whether the calling thread may release a closure of this home.
    var isHere: Bool { if case .here = place { true } else { false } }

    /// Releases the closure at its home. Call this function without a lock.
    func letGo(of confined: Confined) {
        switch place {
        case .here: confined.empty()
        case .thread(let loop): loop.asyncInEveryMode { confined.letGo() }
        case .mainQueue:
            let context = Unmanaged.passRetained(confined).toOpaque()
            cgrun_call_on_main_queue(
                { $0.map { Unmanaged<Confined>.fromOpaque($0).takeRetainedValue().letGo() } }, context)
        // Leaks the closure. Otherwise the deinit of `confined` would call this function again, endlessly.
        case .nowhere: confined.keep()
        }
    }
}

extension Confined {
    package convenience init(_ closure: ConfinedClosure, of actor: any Actor) {
        self.init(closure, of: actor, at: Home(of: actor))
    }

    // Closures of the main actor. The casts only remove `@MainActor` from the closure's type. ``Home`` checks the actor
    // at each call, as `MainActor.assumeIsolated` would.

    convenience init(onMainActor timer: @escaping @MainActor (GRunLoop.Timer) -> Void) {
        self.init(.timer(unsafeBitCast(timer, to: ConfinedClosure.Timer.self)), of: nil, at: .mainActor)
    }

    convenience init(onMainActor block: @escaping @MainActor () -> Void) {
        self.init(.block(unsafeBitCast(block, to: ConfinedClosure.Block.self)), of: nil, at: .mainActor)
    }

    package convenience init(
        onMainActor descriptor:
            @escaping @MainActor (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions)
            -> Void
    ) {
        self.init(.descriptor(unsafeBitCast(descriptor, to: ConfinedClosure.Descriptor.self)), of: nil, at: .mainActor)
    }

    convenience init(onMainActor observer: @escaping @MainActor (GRunLoop.Observer, GRunLoop.Activity) -> Void) {
        self.init(.observer(unsafeBitCast(observer, to: ConfinedClosure.Observer.self)), of: nil, at: .mainActor)
    }

    convenience init(onMainActor port: @escaping @MainActor (GRunLoop.PortMessage) -> Void) {
        self.init(.port(unsafeBitCast(port, to: ConfinedClosure.Port.self)), of: nil, at: .mainActor)
    }
}
