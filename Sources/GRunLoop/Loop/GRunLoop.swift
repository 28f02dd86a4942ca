// SPDX-License-Identifier: Apache-2.0
// The run loop of a thread: who it is, and what it holds.

import CGRun
import Glibc
import Synchronization

/// The run loop of a thread: Core Foundation's run loop, living on GLib's main context.
///
/// Every thread has one; it is made when it is first asked for, and ends with its thread. It serves items (sources,
/// timers, blocks, descriptors) and GLib contexts while it is run in a mode that they are in, tells observers what it
/// does, and sleeps when there is nothing to do.
///
/// Threads: a loop may be held and called from any thread; running it belongs to its own. After its thread has ended a
/// loop is inert: calls do nothing, runs are finished. The corresponding Core Foundation type is `CFRunLoop`,
/// Foundation's is `RunLoop`.
///
/// In a child process that was forked and did not `exec()`, calls are refused with a message and do nothing. A call
/// that is an error of the program's is logged as critical in GLib's log, domain `GRunLoop`, and does nothing; where
/// one stops the program instead, its page says so.
public final class GRunLoop: @unchecked Sendable {
    let lock = Lock.take()
    /// What the loop's thread does, for others who watch it.
    let beat: UnsafeMutablePointer<cgrun_beat> = cgrun_beat_new()
    /// Whether this is the loop of the process's main thread, which serves the main dispatch queue.
    let isMain: Bool
    /// The clock of a loop whose time a test moves, nil in all others.
    let virtualTime: VirtualClock?

    // MARK: Guarded by the lock

    /// Every mode that an item, a block or a context has named. None is ever removed.
    @exclusivity(unchecked) var modes: [Mode: ModeState] = [:]
    /// The same by ``ModeState/number``.
    @exclusivity(unchecked) private(set) var modesByNumber: [UInt64: ModeState] = [:]
    var commonModes: Set<Mode> = [.default] { didSet { sortedCommonModes = nil } }
    /// The names of the common modes in ascending order, once an item has asked for them.
    var sortedCommonModes: [Mode]?
    var commonItems = CommonItems()
    let commonBlocks = BlockQueue()
    /// The one mode that always exists.
    let defaultMode: ModeState
    /// The next block's number.
    var blockSequence: UInt64 = perturbs(CGRUN_SITE_COUNTER) ? .max >> 1 : 1
    /// Blocks with a smaller number belong to a block step under way: a nested run does not see them.
    var hiddenBlocks: UInt64 = 0

    /// An empty queue for the next block step, which need not allocate one.
    var spareBlocks: BlockQueue?

    /// The innermost frame. Not retained: its function owns it. A task that receives on the loop reads it without the
    /// lock, on the loop's thread.
    var innermost: Unmanaged<Frame>?
    /// The delayed performs whose closures are on the stack, outermost first.
    @exclusivity(unchecked) var performing: [Performing] = []
    @exclusivity(unchecked) var batch = DescriptorBatch()
    /// The kind that was chosen last. Of the kinds that are ready, the next one after it is served. Kept across runs:
    /// otherwise a program that runs the loop for one source at a time would serve the first kind only.
    var lastServed = ItemKind.port
    /// The passes that are owed, to the innermost run and to the host.
    var owed: Owed = .pass
    @exclusivity(unchecked) var sleep = Sleep()
    var home: ServedContext? {
        didSet {
            hostPoll.hub = home?.hub
            stopBeatingLocked()
        }
    }
    /// The host's endless run, as long as the loop is attached.
    let hostRun = Run(isHosted: true)
    @exclusivity(unchecked) var host: HostState
    @exclusivity(unchecked) var hostPoll = HostPoll()
    var sliceLength = Scheduler.standardSlice
    /// How often the rest of a step has waited because a slice was used up: see ``cutCount``.
    var cuts = 0
    @exclusivity(unchecked) var performs = PerformQueue()
    /// Made when an executor is first asked for. ``Executor`` stands above.
    var sharedExecutor: (any TaskExecutor)?
    /// How many watch the loop, and the beat of its host for them.
    var watchers = 0
    var beatSource: BeatSource?
    var waiters = AsyncWaiters()
    var endHandlers = EndHandlers()

    /// The loop's thread has ended. Set with the lock held; read without it where an outdated value does no harm.
    let dead = Atomic(false)
    private let saidDead = Atomic(false)
    /// The ending thread has run its last job. Guarded by the lock.
    var areJobsLate = false

    // MARK: Own thread only

    /// A frame for the next run, which need not allocate one.
    var spareFrame: Frame?
    /// The same for the host's next dispatch.
    var spareHostFrame: Frame?
    let poller = ContextPoller()
    /// `g_main_depth()` inside the context dispatch that a pass of ours is making, 0 without one. Changed with the lock
    /// held: another thread reads it.
    var ownDispatchDepth = 0
    /// An eventfd to wake sleeps without any context; made at the first of them, -1 before.
    var wakeDescriptor: Int32 = -1
    /// How many sources of whatever kind were handled: who runs the loop in another one's place asks.
    @exclusivity(unchecked) var handledSources: UInt64 = 0
    var tracer: Trace?
    /// While the process is recorded.
    var recorder: Recorder?
    var itemChooser: (@Sendable ([ReadyChoice]) -> Int?)?
    @exclusivity(unchecked) var cancellables = Cancellables()
    private var destructorRounds: Int32 = 0

    init(isMain: Bool, virtualTime: VirtualClock? = nil) {
        self.isMain = isMain
        self.virtualTime = virtualTime
        defaultMode = ModeState(name: .default, isCommon: true)
        modes[.default] = defaultMode
        host = HostState(ambientMode: defaultMode)
        lock.owner = Unmanaged.passUnretained(self).toOpaque()
        cgrun_watch_fork()
        // Of two copies of the library the first serves the process; loops of the other are dead from the beginning.
        if OneCopy.other != nil { beDead() }
    }

    /// Marks a loop that never runs as ended, so that no caller waits for it.
    private func beDead() {
        dead.store(true, ordering: .relaxed)
        areJobsLate = true
        _ = performs.close()
        _ = waiters.close()
        _ = endHandlers.closeIfEmpty()
    }

    deinit {
        // Not closed earlier: another thread may have been about to wake the loop by it.
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        commonBlocks.deallocate()
        spareBlocks?.deallocate()
        cgrun_beat_unref(beat)
        Lock.giveBack(lock)
    }

    // MARK: Who

    /// For a loop that is not current: whether it will be, once virtual time is over on this thread.
    var isHidden: Bool {
        // The main loop may have been made inside virtual time.
        if isMain { return cgrun_is_main_thread() }
        var hidden = ThreadLoops.peek?.virtualTime?.hidden
        while let loop = hidden, loop !== self { hidden = loop.virtualTime?.hidden }
        return hidden != nil
    }

    // MARK: Whether it can be called at all

    var isDead: Bool { dead.load(ordering: .relaxed) }

    /// Whether `call` must do nothing: after fork(), since the descriptors are shared with the parent, whose loop would
    /// be woken; after the end of the loop's thread, which the main loop logs once (item 14); or if another copy of the
    /// library serves the process.
    @inline(__always) func refuses(_ call: StaticString) -> Bool {
        guard Fork.isChild || isDead else { return false }
        explainRefusal(call)
        return true
    }

    private func explainRefusal(_ call: StaticString) {
        if Fork.isChild {
            Fork.explain(call)
        } else if OneCopy.other != nil {
            OneCopy.explain(call)
        } else if isMain, !saidDead.exchange(true, ordering: .relaxed) {
            Log.misuse(call, "the main thread has ended, so its run loop never runs again. Said once")
        }
    }

    @inline(__always) func requireOwnThread(_ call: StaticString) -> Bool {
        isCurrent || explainThread(call)
    }

    /// Says why not, and returns false.
    private func explainThread(_ call: StaticString) -> Bool {
        if Fork.refuses(call) { return false }
        guard !isHidden else {
            Log.misuse(
                call,
                "ignored: its thread is in virtual time, where another loop stands in for this one; call it afterwards")
            return false
        }
        let remedy = cgrun_get_caller() == nil ? "async(inModes:_:)" : "grun_loop_post()"
        Log.misuse(call, "called on another thread than the loop's own, and ignored; call it there, by \(remedy)")
        return false
    }

    func countDestructorRound() -> Int32 {
        destructorRounds += 1
        return destructorRounds
    }

    /// The current time on the loop's clock.
    @inline(__always) var time: Nanoseconds { virtualTime == nil ? .now() : virtualNow }
    private var virtualNow: Nanoseconds { virtualTime?.now ?? .now() }

    // MARK: Modes

    /// With the lock held: the mode of that name, made if there is none.
    func modeLocked(_ name: Mode) -> ModeState {
        if let mode = knownModeLocked(name) { return mode }
        let mode = ModeState(name: name, isCommon: commonModes.contains(name))
        modes[name] = mode
        modesByNumber[mode.number] = mode
        return mode
    }

    /// With the lock held: the mode of that name, if there is one.
    func knownModeLocked(_ name: Mode) -> ModeState? {
        // The default mode's name is usually the same piece of memory: no hash is needed.
        name == defaultMode.name ? defaultMode : modes[name]
    }

    /// The modes that exist: those that an item, a block, a context or a push of the ambient mode has ever named, and
    /// always ``Mode/default``. In no order.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
    public var allModes: [Mode] {
        Fork.refuses("allModes") ? [] : lock.withLock { Array(modes.keys) }
    }

    /// The context that every common mode serves: GLib's default context on the main thread; elsewhere the thread's
    /// default one, or one of the loop's own. Nil until it is fixed, when the thread adds its first item or block or
    /// first runs the loop; nil while the loop is detached, and after its thread's end.
    ///
    /// Threads: any. The corresponding GLib functions are `g_main_context_default` and
    /// `g_main_context_ref_thread_default`.
    public var homeContext: Context? {
        Fork.refuses("homeContext") ? nil : lock.withLock { home.map { Context($0.context) } }
    }

    // MARK: What a mode waits for

    /// The date of the first timer of a mode, or of its first delayed perform. Tolerances do not count.
    ///
    /// - Returns: the date; nil if the mode has neither, or does not exist. ``Mode/common`` stands for others and has
    ///   none: ask for ``Mode/default``. A date that has passed: it is overdue.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetNextTimerFireDate`.
    public func nextFireDate(forMode name: Mode) -> Instant? {
        guard !Fork.refuses("nextFireDate") else { return nil }
        return lock.withLock { () -> Nanoseconds? in
            guard let mode = modes[name], mode.timerCount > 0 else { return nil }
            // A timer whose closure is running still counts, with its old date (item 142).
            var dates = mode.firing.map {
                $0._withUnsafeGuaranteedRef { ($0.dates.deadline, $0.dates.requested) }
            }
            dates += performing.filter { $0.isIn(mode) }.map { ($0.due, $0.due) }
            switch mode.heap.first {
            case .timer(let timer): dates.append((timer.dates.deadline, timer.dates.requested))
            case .perform(_, let due): dates.append((due, due))
            case nil: break
            }
            return dates.min { $0.0 < $1.0 }?.1
        }?.instant
    }
}

// MARK: The home context

extension GRunLoop {
    /// With the lock held: fixes the home context if it is not fixed yet and can be now. The main loop's is GLib's
    /// default context. On another thread it is the one that is pushed there when the first item or block is added or
    /// the loop first runs, else one of its own; what another thread adds before that does not fix it: only the thread
    /// itself can tell what is pushed there.
    func fixHomeLocked() {
        if home == nil { fixHomeNowLocked() }
    }

    private func fixHomeNowLocked() {
        guard host.detachedFrom == nil, !isDead, isMain || isCurrent else { return }
        guard let context = isMain ? Contexts.ofMainThread() : Contexts.pushedOnThisThread() ?? Contexts.make() else {
            return
        }
        home = ServedContext(context, carrying: self)
        Contexts.release(context)
        homeHasChangedLocked()
    }

    /// With the lock held: the home context is not carried, though it may have been added to modes before it became the
    /// home. It stays referenced as the home, so dropping it here calls no user code.
    func homeHasChangedLocked() {
        for mode in modes.values {
            mode.addedContexts.removeAll { $0.context == home?.context }
            mode.contextsVersion += 1
        }
    }

    /// With the lock held: the contexts that a mode serves, the one first in which GIO is to complete.
    func contextsLocked(of mode: ModeState) -> [ServedContext] {
        if let known = mode.contexts { return known }
        var contexts: [ServedContext] = []
        if mode.isCommon, let home { contexts.append(home) }
        if let own = mode.ownContext { contexts.append(own) }
        contexts += mode.addedContexts
        mode.contexts = contexts
        return contexts
    }
}
