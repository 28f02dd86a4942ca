// SPDX-License-Identifier: Apache-2.0
// Whose a closure is, and where its actor lives: what Swift's runtime and libdispatch know.

import CGRun

extension Home: Belonging {
    /// Of an actor that the caller stands on.
    init(of actor: any Actor) {
        let executor = actor.unownedExecutor.asSerialExecutor()
        if let loop = (executor as? GRunLoop.Executor)?.loopOfThisThread {
            self = .thread(of: loop)
        } else if let executor = executor as? GRunLoop.Executor, executor.isRunningLateJob {
            self = .lateJobs(of: executor)
        } else if let executor, executor === MainActor.sharedUnownedExecutor.asSerialExecutor(),
            // An actor that names several executors in turn may have been called on another.
            cgrun_is_main_thread() || MainQueue.isGivenAway
        {
            // The runtime's own check ends a release build without a message.
            if !MainQueue.isCurrent {
                Log.fatal(
                    "an item or a perform with a closure of the main actor was made on a thread that is not the main "
                        + "actor's: libdispatch runs the main queue elsewhere. Make it in a block of the main queue")
            }
            self = .mainActor
        } else {
            Log.fatal(
                "the actor that the closure of an item or a perform belongs to lives on no run loop, and nothing may "
                    + "call it. Give the actor a GRunLoop.Executor, or write a @Sendable closure")
        }
    }

    /// Whether items with such a closure may be added to the loop. In virtual time another loop stands in for the home:
    /// on its thread only.
    func admits(_ loop: GRunLoop) -> Bool {
        switch self {
        case .mainActor: loop.isMain || loop.virtualTime != nil && loop.isCurrent && MainQueue.isCurrent
        case .thread(let home): loop === home || loop.virtualTime != nil && loop.isCurrent && home.isOfThisThread
        // A loop that has ended takes nothing, without a message.
        case .lateJobs: loop.isDead
        }
    }

    /// Ends the process if the item may not be added to the loop. Also with a lock held.
    func require(_ loop: GRunLoop, for item: StaticString) {
        guard !admits(loop) else { return }
        Log.fatal(
            "the closure of this \(item) belongs to an actor that does not live on the run loop to which it is added. "
                + "Add it to the actor's own loop, or make it with a @Sendable closure")
    }

    /// The same where the closure is about to be called.
    func requireHere() {
        guard mayCall else {
            Log.fatal(
                "a closure that belongs to an actor was called where that actor is not: fire() such a timer on its "
                    + "loop's thread, add such a queue to its loop only, or make it with a @Sendable closure")
        }
        // Where libdispatch has the main queue on another thread, the main loop's is not the main actor's.
        if case .mainActor = self { MainActor.preconditionIsolated() }
    }

    private var mayCall: Bool {
        switch self {
        // The main loop is on the main actor; a loop of virtual time is if its test is. Elsewhere nobody asks
        // libdispatch.
        case .mainActor:
            guard let loop = ThreadLoops.currentIfAny else { return false }
            return loop.isMain || loop.virtualTime != nil && MainQueue.isCurrent
        case .thread(let home): return home.isOfThisThread
        case .lateJobs(let executor): return executor.isIsolatingCurrentContext() == true
        }
    }

    /// Where to let go of something: its deinit, and that of whatever it is the last to hold, is code of the actor.
    private enum Place {
        case here
        case thread(of: GRunLoop)
        /// Where libdispatch runs the main queue on threads of its own.
        case mainQueue
        /// Nobody can ever be at home again: it is kept.
        case nowhere
    }

    private var place: Place {
        // A child has one thread.
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

    /// Whether to let go of something here.
    var isHere: Bool { if case .here = place { true } else { false } }

    /// Without a lock: the closure goes where its actor is.
    func letGo(of confined: Confined) {
        switch place {
        case .here: confined.empty()
        case .thread(let loop): loop.async { confined.letGo() }
        case .mainQueue:
            let context = Unmanaged.passRetained(confined).toOpaque()
            cgrun_call_on_main_queue(
                { $0.map { Unmanaged<Confined>.fromOpaque($0).takeRetainedValue().letGo() } }, context)
        // What goes with it still there would come back here for ever.
        case .nowhere: confined.keep()
        }
    }
}

extension Confined {
    convenience init(_ closure: ConfinedClosure, of actor: any Actor) {
        self.init(closure, of: actor, at: Home(of: actor))
    }

    convenience init(onMainActor closure: ConfinedClosure) {
        self.init(closure, of: nil, at: .mainActor)
    }
}
