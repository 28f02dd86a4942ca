// SPDX-License-Identifier: Apache-2.0
// The run loop of a thread: its state, its modes and its home context.

import CGRun
import Glibc
import Synchronization

/// The run loop of a thread: Core Foundation's run loop, living on GLib's main context.
///
/// Every thread has one. It is made when it is first asked for, and ends with its thread. While a loop runs in a mode,
/// it serves the mode's items (sources, timers, blocks, descriptors) and GLib contexts. It notifies observers of what
/// it does, and sleeps when there is nothing to do.
///
/// Threads: a loop may be held and called from any thread, but only its own thread may run it. After its thread has
/// ended, a loop is inert: calls do nothing, runs are finished. The corresponding Core Foundation type is `CFRunLoop`,
/// Foundation's is `RunLoop`.
///
/// In a child process that was forked and did not call `exec()`, calls are refused with a message and do nothing.
///
/// If a call is an error of the program, it does nothing, and is logged as critical in GLib's log, domain `GRunLoop`.
/// If an error stops the program instead, the documentation of the call says so.
public final class GRunLoop: @unchecked Sendable {
    package let lock = Lock.take()
    /// Traces, recordings and stall monitors learn by it what the loop does. Nil if the process has none of these.
    package let probe: (any LoopProbe)?
    /// Where the loop counts its callouts for the threads that watch it: the probe's ``LoopProbe/pulse``.
    let pulse: UnsafeMutablePointer<cgrun_pulse>?
    /// Whether this is the loop of the process's main thread, which serves the main dispatch queue.
    package let isMain: Bool
    /// The clock of a loop in virtual time; nil in all other loops.
    let virtualTime: VirtualClock?

    // MARK: Guarded by the lock

    /// Every mode that an item, a block or a context has named. A mode is never removed.
    @exclusivity(unchecked) var modes: [Mode: ModeState] = [:]
    /// The modes by ``ModeState/number``, except the default mode.
    @exclusivity(unchecked) private(set) var modesByNumber: [UInt64: ModeState] = [:]
    var commonModes: Set<Mode> = [.default] { didSet { sortedCommonModes = nil } }
    /// The names of the common modes in ascending order; nil until an item asks for them.
    var sortedCommonModes: [Mode]?
    var commonItems = CommonItems()
    let commonBlocks = BlockQueue()
    /// The one mode that always exists.
    let defaultMode: ModeState
    /// A number that no other loop of the process ever has.
    package var number: UInt64 { defaultMode.number }
    /// The number of the next block.
    var blockSequence: UInt64 = perturbs(CGRUN_SITE_COUNTER) ? .max >> 1 : 1
    /// Blocks with a smaller number belong to a block step that is under way. A nested run does not see them.
    var hiddenBlocks: UInt64 = 0

    /// An empty queue for the next block step, which need not allocate one.
    var spareBlocks: BlockQueue?

    /// The innermost frame. It is not retained: the function that runs it owns it. A task that receives on the loop
    /// reads it without the lock, on the loop's thread.
    var innermost: Unmanaged<Frame>?
    /// The delayed performs whose closures are on the stack, outermost first.
    @exclusivity(unchecked) var performing: [Performing] = []
    @exclusivity(unchecked) var batch = DescriptorBatch()
    /// The kind that was chosen last. The next ready kind after it is served next. It is kept across runs: otherwise a
    /// program that runs the loop for one source at a time would serve the first kind only.
    var lastServed = ItemKind.port
    /// Why the innermost run or the host has to make another pass before it sleeps.
    var pendingPasses: PendingPasses = .pass
    @exclusivity(unchecked) var sleep = Sleep()
    var home: ServedContext? {
        didSet {
            host.poll.hub = home?.hub
            probe?.homeContextHasChangedLocked()
        }
    }
    /// Everything about a host that drives the loop, or may.
    @exclusivity(unchecked) var host: HostState
    var sliceLength = Scheduler.standardSlice
    /// How often a step was cut because the slice was used up: see ``cutCount``.
    var cuts = 0
    @exclusivity(unchecked) var performs = PerformQueue()
    /// Made when an executor is first asked for. The type is a protocol, because this file must not depend on
    /// ``Executor``.
    var sharedExecutor: (any TaskExecutor)?
    var waiters = AsyncWaiters()
    var endHandlers = EndHandlers()

    /// True once the loop's thread has ended. Set with the lock held, and read without it where an outdated value does
    /// no harm.
    let dead = Atomic(false)
    private let saidDead = Atomic(false)
    /// True once the ending thread has run its last job. Guarded by the lock.
    var areJobsLate = false

    // MARK: Own thread only

    /// A frame for the next run, which need not allocate one.
    var spareFrame: Frame?
    let poller = ContextPoller()
    /// The value of `g_main_depth()` inside the context dispatch that a pass of this loop makes now; 0 without one.
    /// Changed with the lock held, because another thread reads it.
    var ownDispatchDepth = 0
    /// An eventfd that ends sleeps without any context. It is made before the first such sleep; -1 until then.
    var wakeDescriptor: Int32 = -1
    /// How many sources of any kind were handled. Code that serves another loop beside this one, such as
    /// `GRunLoopFoundation`, compares it before and after a run.
    @exclusivity(unchecked) var handledSources: UInt64 = 0
    /// Whether the loop makes each pass, also one whose head has nothing to do. Set while the loop is traced.
    @exclusivity(unchecked) package var makesEveryPass = false
    var itemChooser: (@Sendable ([ReadyChoice]) -> Int?)?
    @exclusivity(unchecked) var cancellables = Cancellables()
    private var destructorRounds: Int32 = 0

    init(isMain: Bool, virtualTime: VirtualClock? = nil) {
        self.isMain = isMain
        self.virtualTime = virtualTime
        var probe: (any LoopProbe)?
        withUnsafeMutablePointer(to: &probe) { cgrun_make_probe_if_linked($0) }
        self.probe = probe
        pulse = probe?.pulse
        defaultMode = ModeState(name: .default, isCommon: true)
        modes[.default] = defaultMode
        host = HostState(ambientMode: defaultMode)
        lock.owner = Unmanaged.passUnretained(self).toOpaque()
        cgrun_watch_fork()
        // If the process has two copies of the library, the first one serves it. The loops of the other are dead from
        // the beginning.
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
        // Closed only here, because another thread may have been about to wake the loop through it.
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        commonBlocks.deallocate()
        spareBlocks?.deallocate()
        Lock.giveBack(lock)
    }

    // MARK: Which thread's loop it is

    /// Whether virtual time hides this loop on the calling thread, so that the loop becomes current again afterwards.
    /// Call it for a loop that is not current.
    var isHidden: Bool {
        // The main loop may have been made inside virtual time. Then no virtual clock names it as hidden.
        if isMain { return cgrun_is_main_thread() }
        var hidden = ThreadLoops.peek?.virtualTime?.hidden
        while let loop = hidden, loop !== self { hidden = loop.virtualTime?.hidden }
        return hidden != nil
    }

    // MARK: Whether it can be called at all

    package var isDead: Bool { dead.load(ordering: .relaxed) }

    /// Whether `call` must do nothing, which is logged. There are three reasons:
    ///
    /// - The process is a forked child. It shares the descriptors with its parent, whose loop would be woken.
    /// - The loop's thread has ended. The main loop logs this once; other loops do not log it (item 14).
    /// - Another copy of the library serves the process.
    ///
    /// - Parameter kind: the kind of the item that the call is about: `add` and `Timer` make `add(Timer)`.
    @inline(__always) func refuses(_ call: StaticString, _ kind: StaticString? = nil) -> Bool {
        guard Fork.isChild || isDead else { return false }
        explainRefusal(call, kind)
        return true
    }

    private func explainRefusal(_ name: StaticString, _ kind: StaticString?) {
        let call = Fork.name(of: name, kind)
        if Fork.isChild {
            Fork.explain(call)
        } else if OneCopy.other != nil {
            OneCopy.explain(call)
        } else if isMain, !saidDead.exchange(true, ordering: .relaxed) {
            Log.misuse(call, "the main thread has ended, so its run loop never runs again. Logged once")
        }
    }

    @inline(__always) func requireOwnThread(_ call: StaticString) -> Bool {
        isCurrent || explainThread(call)
    }

    /// Handles a call on a thread that is not the loop's own: ends the process. A loop that has ended ignores the call,
    /// and so does a loop that is replaced in virtual time, which is logged.
    private func explainThread(_ call: StaticString) -> Bool {
        if isDead || isIgnored("\(call)") { return false }
        Log.fatal(
            "\(call)",
            "called on another thread than the loop's own; call it there, by async(inModes:_:), "
                + "or use this thread's loop"
        )
    }

    /// Returns whether a call of a C function is on the loop's own thread. If it is not, that is logged.
    package var isOnOwnThreadForC: Bool {
        if isCurrent { return !Fork.refuses("") }
        if !isIgnored("") {
            Log.misuse(
                "", "called on another thread than the loop's own, and ignored; call it there, by grun_loop_post()")
        }
        return false
    }

    private func isIgnored(_ call: String) -> Bool {
        if Fork.isChild {
            Fork.explain(call)
            return true
        }
        guard isHidden else { return false }
        Log.misuse(
            call,
            "ignored: its thread is in virtual time, where another loop stands in for this one; call it afterwards")
        return true
    }

    func countDestructorRound() -> Int32 {
        destructorRounds += 1
        return destructorRounds
    }

    /// The current time on the loop's clock.
    @inline(__always) package var time: Nanoseconds { virtualTime == nil ? .now() : virtualNow }
    private var virtualNow: Nanoseconds { virtualTime?.now ?? .now() }

    // MARK: Modes

    /// Returns the mode of that name. Makes it if there is none. With the lock held.
    func modeLocked(_ name: Mode) -> ModeState {
        if let mode = knownModeLocked(name) { return mode }
        let mode = ModeState(name: name, isCommon: commonModes.contains(name))
        modes[name] = mode
        modesByNumber[mode.number] = mode
        return mode
    }

    /// Returns the mode of that name; nil if there is none. With the lock held.
    func knownModeLocked(_ name: Mode) -> ModeState? {
        // The default mode has a property of its own, so that its name need not be hashed.
        name == defaultMode.name ? defaultMode : modes[name]
    }

    /// The modes that exist, in no order. These are ``Mode/default``, and every mode that an item, a block, a context
    /// or a push of the ambient mode has ever named.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
    public var allModes: [Mode] {
        Fork.refuses("allModes") ? [] : lock.withLock { Array(modes.keys) }
    }

    /// The GLib context that every common mode serves.
    ///
    /// On the main thread it is GLib's default context. On another thread it is the thread's default context, or a
    /// context that the loop has made.
    ///
    /// It is nil until it is fixed: when the thread adds its first item or block, or first runs the loop. It is also
    /// nil while the loop is detached, and after the end of its thread.
    ///
    /// Threads: any. The corresponding GLib functions are `g_main_context_default` and
    /// `g_main_context_ref_thread_default`.
    public var homeContext: Context? {
        Fork.refuses("homeContext") ? nil : lock.withLock { home.map { Context($0.context) } }
    }

    // MARK: What a mode waits for

    /// The date of a mode's first timer or delayed perform. Tolerances do not count.
    ///
    /// - Returns: the date; nil if the mode has no timer and no delayed perform, or does not exist. A date in the past
    ///   means that the timer is overdue. For ``Mode/common`` it is nil, because that mode has no items: ask for
    ///   ``Mode/default``.
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
    /// Fixes the home context if it is not fixed yet and can be fixed now. With the lock held.
    ///
    /// On the main loop the home is GLib's default context. On another thread it is the context that is pushed there
    /// when the thread adds its first item or block or first runs the loop. If none is pushed, the loop makes a
    /// context.
    ///
    /// Only the loop's own thread can tell which context is pushed there. So an addition by another thread does not fix
    /// the home.
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

    /// Called when there is another home context. Removes it from the contexts that were added to modes, because it
    /// must not be carried into itself. It may have been added before it became the home. `home` still references it,
    /// so the removal calls no user code. With the lock held.
    func homeHasChangedLocked() {
        for mode in modes.values {
            mode.addedContexts.removeAll { $0.context == home?.context }
            mode.contextsVersion += 1
        }
    }

    /// Returns the contexts that a mode serves. GIO's operations complete in the first of them. With the lock held.
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
