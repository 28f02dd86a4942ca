// SPDX-License-Identifier: Apache-2.0
// Finds the home of a closure's actor, from what Swift's runtime and libdispatch know, and checks it.

import CGRun

extension Home {
    /// The home of an actor on which the caller runs.
    init(of actor: any Actor) {
        let executor = actor.unownedExecutor.asSerialExecutor()
        if let loop = (executor as? GRunLoop.Executor)?.loopOfThisThread {
            self = .thread(of: loop)
        } else if let executor = executor as? GRunLoop.Executor, executor.isRunningLateJob {
            self = .lateJobs(of: executor)
        } else if let executor, executor === MainActor.sharedUnownedExecutor.asSerialExecutor(),
            // An actor that returns several executors in turn may have been called on another one.
            cgrun_is_main_thread() || MainQueue.isGivenAway
        {
            // Checked here, because the runtime's own check ends a release build without a message.
            if !MainQueue.isCurrent {
                Log.fatal(
                    "libdispatch runs the main queue on another thread, so an item or a delayed call with a closure of "
                        + "the main actor cannot be made here. Make it in a block of the main queue")
            }
            self = .mainActor
        } else {
            Log.fatal(
                "the closure of an item or a delayed call belongs to an actor that lives on no run loop, so no loop "
                    + "may call the closure. Give the actor a GRunLoop.Executor, or give the item a @Sendable closure")
        }
    }

    /// Whether items with a closure of this home may be added to the loop. In virtual time, another loop may stand in
    /// for the home's loop, but only on the same thread.
    func admits(_ loop: GRunLoop) -> Bool {
        switch self {
        case .mainActor: loop.isMain || loop.virtualTime != nil && loop.isCurrent && MainQueue.isCurrent
        case .thread(let home): loop === home || loop.virtualTime != nil && loop.isCurrent && home.isOfThisThread
        // Only to a loop that has ended, which takes no item and logs nothing.
        case .lateJobs: loop.isDead
        }
    }

    /// Ends the process if the item may not be added to the loop. It may be called with a lock held.
    func require(_ loop: GRunLoop, for item: StaticString) {
        guard !admits(loop) else { return }
        Log.fatal(
            "the closure of this \(item) belongs to an actor that does not live on the run loop to which it is added. "
                + "Add it to the actor's own loop, or make it with a @Sendable closure")
    }

    /// Ends the process if the closure may not be called here.
    func requireHere() {
        guard mayCall else {
            Log.fatal(
                "a closure that belongs to an actor was called where that actor is not: fire() the timer on its "
                    + "loop's thread, add the queue to its own loop only, or use a @Sendable closure")
        }
        // If libdispatch runs the main queue on another thread, the main loop's thread is not the main actor's.
        if case .mainActor = self { MainActor.preconditionIsolated() }
    }

    private var mayCall: Bool {
        switch self {
        // The main loop is on the main actor. A loop of virtual time is on it if the test is. libdispatch is asked only
        // for a loop of virtual time.
        case .mainActor:
            guard let loop = ThreadLoops.currentIfAny else { return false }
            return loop.isMain || loop.virtualTime != nil && MainQueue.isCurrent
        case .thread(let home): return home.isOfThisThread
        case .lateJobs(let executor): return executor.isIsolatingCurrentContext() == true
        }
    }

    /// The place where a closure is released. Releasing it may run the deinit of an object that only the closure keeps
    /// alive, and such a deinit is code of the actor.
    private enum Place {
        case here
        case thread(of: GRunLoop)
        /// The main queue, which libdispatch runs on threads of its own.
        case mainQueue
        /// No thread can ever be at home again, so the closure is never released.
        case nowhere
    }

    private var place: Place {
        // A forked child has only one thread.
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

    /// Whether the closure may be released here.
    var isHere: Bool { if case .here = place { true } else { false } }

    /// Releases the closure where its actor is. Call it without a lock.
    func letGo(of confined: Confined) {
        switch place {
        case .here: confined.empty()
        case .thread(let loop): loop.async { confined.letGo() }
        case .mainQueue:
            let context = Unmanaged.passRetained(confined).toOpaque()
            cgrun_call_on_main_queue(
                { $0.map { Unmanaged<Confined>.fromOpaque($0).takeRetainedValue().letGo() } }, context)
        // The closure is leaked. If `confined` still held it, its deinit would come back here forever.
        case .nowhere: confined.keep()
        }
    }
}

extension Confined {
    package convenience init(_ closure: ConfinedClosure, of actor: any Actor) {
        self.init(closure, of: actor, at: Home(of: actor))
    }

    // The closures of the main actor. The casts remove the actor from their types, which changes nothing else of a
    // closure. ``Home`` checks the actor when the closure is called, as `MainActor.assumeIsolated` would.

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
