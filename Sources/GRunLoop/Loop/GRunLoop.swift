// SPDX-License-Identifier: Apache-2.0
// The run loop of a thread: its state and its modes. A function whose name ends in `Locked` is called with the loop's
// lock held.

import CGRun
import Glibc
import Synchronization

/// The run loop of a thread: Core Foundation's run loop on top of GLib's main context.
///
/// Every thread has one loop, which is made at the first access and ends with the thread. While a loop runs in a mode,
/// it serves the mode's items (sources, ports, timers, blocks, descriptors) and GLib contexts. It notifies observers of
/// each stage, and sleeps when there is nothing to do.
///
/// Threads: any thread may call a loop, but only the loop's own thread may run it. After that thread has ended, the
/// loop is inert: calls do nothing, and a run returns ``RunResult/finished`` immediately. The corresponding Core
/// Foundation type is `CFRunLoop`. The Foundation type is `RunLoop`.
///
/// In a child process that was forked and did not call `exec()`, calls are refused with a message.
///
/// A call that is a programming error does nothing, and logs a critical message in GLib's log domain `GRunLoop`. If
/// such an error ends the process instead, the documentation of the function says so.
public final class GRunLoop: @unchecked Sendable {
    package let lock = Lock.take()
    /// Reports the loop's work to traces, recordings and stall monitors; nil if the program is linked without the
    /// library's diagnostics.
    package let probe: (any LoopProbe)?
    /// The probe's ``LoopProbe/pulse``, where the loop counts its callouts.
    let pulse: UnsafeMutablePointer<cgrun_pulse>?
    /// Whether this is the loop of the main thread, which serves the main dispatch queue.
    package let isMain: Bool
    /// The loop's clock in virtual time; nil if the loop is not in virtual time. A test can give the main loop a
    /// virtual clock for a while.
    let virtualClock: Atomic<Unmanaged<VirtualClock>?>

    // MARK: Guarded by the lock

    /// The modes of ``allModes``, by name. A mode is never removed.
    @exclusivity(unchecked) var modes: [Mode: ModeState] = [:]
    /// The modes by ``ModeState/number``, except the default mode.
    @exclusivity(unchecked) private(set) var modesByNumber: [UInt64: ModeState] = [:]
    var commonModes: Set<Mode> = [.default] { didSet { sortedCommonModes = nil } }
    /// The common modes in ascending order; nil until they are needed after a change.
    var sortedCommonModes: [Mode]?
    var commonItems = CommonItems()
    let commonBlocks = BlockQueue()
    let defaultMode: ModeState
    /// A number that no other loop of the process ever has.
    package var number: UInt64 { defaultMode.number }
    /// The number of the next block.
    var blockSequence: UInt64 = perturbs(CGRUN_SITE_COUNTER) ? .max >> 1 : 1
    /// Blocks with a number below this value belong to a block step that is under way. A nested run does not see these
    /// blocks.
    var hiddenBlocks: UInt64 = 0

    /// An empty queue for the next block step, which saves an allocation.
    var spareBlocks: BlockQueue?

    /// The innermost frame. Not retained, because the function that runs the frame owns the frame. Only the loop's
    /// thread changes this property, so that thread may read the property without the lock.
    var innermost: Unmanaged<Frame>?
    /// The delayed performs whose closures are on the stack, outermost first.
    @exclusivity(unchecked) var performing: [Performing] = []
    @exclusivity(unchecked) var batch = DescriptorBatch()
    /// The kind of item that was last chosen for stage 10. The next pass serves the next ready kind after this kind,
    /// even if a new run makes the pass. Otherwise, in a program that makes a run for each source, the loop would serve
    /// only the first kind.
    var lastServed = ItemKind.port
    var pendingPasses: PendingPasses = .pass
    @exclusivity(unchecked) var sleep = Sleep()
    var home: ServedContext? {
        didSet {
            host.poll.hub = home?.hub
            probe?.homeContextHasChangedLocked()
        }
    }
    @exclusivity(unchecked) var host: HostState
    var sliceLength = Scheduler.standardSlice
    /// See ``cutCount``.
    var cuts = 0
    @exclusivity(unchecked) var performs = PerformQueue()
    /// The loop's ``Executor``; nil until it is needed. The property has the type of a protocol, because this file must
    /// not depend on ``Executor``.
    var sharedExecutor: (any TaskExecutor)?
    var waiters = AsyncWaiters()
    var endHandlers = EndHandlers()

    /// True once the loop's thread has ended. Set with the lock held. Code that tolerates an outdated value reads this
    /// property without the lock.
    let dead = Atomic(false)
    private let saidDead = Atomic(false)
    /// True once the ending thread has run the last job of the loop. Later jobs run on other threads.
    var areJobsLate = false

    // MARK: Own thread only

    /// An unused frame for the next run, which saves an allocation.
    var spareFrame: Frame?
    let poller = ContextPoller()
    /// The value of `g_main_depth()` inside the context dispatch of the current pass; 0 if there is no such dispatch.
    /// Changed with the lock held, because other threads read it.
    var ownDispatchDepth = 0
    /// The eventfd through which other threads end a sleep that polls no context. The loop makes the eventfd before its
    /// first such sleep; -1 until then.
    var wakeDescriptor: Int32 = -1
    /// How many sources of any kind the loop has handled. `GRunLoopFoundation` compares the number before and after a
    /// run.
    @exclusivity(unchecked) var handledSources: UInt64 = 0
    /// Whether the loop makes a pass even if its head has nothing to do. True while the loop is traced.
    @exclusivity(unchecked) package var makesEveryPass = false
    var itemChooser: (@Sendable ([ReadyChoice]) -> Int?)?
    @exclusivity(unchecked) var cancellables = Cancellables()

    init(isMain: Bool, virtualTime: VirtualClock? = nil) {
        self.isMain = isMain
        // deinit releases this reference. The main loop is never destroyed, so a test sets the main loop's virtual
        // clock without a retain.
        virtualClock = Atomic(virtualTime.map(Unmanaged.passRetained))
        var probe: (any LoopProbe)?
        withUnsafeMutablePointer(to: &probe) { cgrun_make_probe_if_linked($0) }
        self.probe = probe
        pulse = probe?.pulse
        defaultMode = ModeState(name: .default, isCommon: true)
        modes[.default] = defaultMode
        host = HostState(ambientMode: defaultMode)
        lock.owner = Unmanaged.passUnretained(self).toOpaque()
        cgrun_watch_fork()
        // If the process has several copies of the library, only the loops of the first copy work. The loops of the
        // other copies are dead.
        if OneCopy.other != nil { beDead() }
        ThreadLoops.add(self)
    }

    /// Marks the loop as ended, so that no caller waits for the loop. Called for a loop that will never run.
    private func beDead() {
        dead.store(true, ordering: .relaxed)
        areJobsLate = true
        _ = performs.close()
        _ = waiters.close()
        _ = endHandlers.closeIfEmpty()
    }

    deinit {
        // The descriptor is not closed earlier, because another thread may have been about to wake the loop through it.
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        commonBlocks.deallocate()
        spareBlocks?.deallocate()
        virtualClock.load(ordering: .relaxed)?.release()
        Lock.giveBack(lock)
    }

    // MARK: Which thread's loop it is

    /// True if this loop belongs to the calling thread but a loop in virtual time replaces it now. Read this property
    /// only if the loop is not the thread's current loop.
    var isHidden: Bool {
        // If the main loop was made inside virtual time, no virtual clock has the main loop as its `hidden` loop.
        isMain ? cgrun_is_main_thread() : ThreadLoops.peek?.andHidden.contains { $0 === self } == true
    }

    /// This loop, and the loops that virtual time hides behind it.
    var andHidden: UnfoldFirstSequence<GRunLoop> { sequence(first: self) { $0.virtualTime?.hidden } }

    // MARK: Whether it can be called at all

    package var isDead: Bool { dead.load(ordering: .relaxed) }

    /// Returns whether `call` must do nothing. If so, logs one of three reasons:
    ///
    /// - The process is a forked child, which shares its descriptors with the parent. Without the refusal, the call
    ///   could wake the parent's loop.
    /// - The loop's thread has ended. Only the main loop logs this, and only once (item 14).
    /// - Another copy of the library serves the process.
    ///
    /// - Parameter kind: the kind of the item that is passed to `call`. For example, the log shows `add` and `Timer` as
    ///   `add(Timer)`.
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

    /// Called on a thread that is not the loop's own: ends the process with a message. Returns false instead if the
    /// loop has ended, if the process is a forked child, or if virtual time hides the loop. The last two cases are
    /// logged.
    private func explainThread(_ call: StaticString) -> Bool {
        if isDead || isIgnored("\(call)") { return false }
        Log.fatal(
            "\(call)",
            "called on another thread than the loop's own; call this function on the loop's thread with "
                + "async(inModes:_:), or use GRunLoop.current"
        )
    }

    /// True if a C function was called on the loop's own thread and not in a forked child. Otherwise false, and the
    /// library logs why it ignores the call.
    package var isOnOwnThreadForC: Bool {
        if isCurrent { return !Fork.refuses("") }
        if !isIgnored("") {
            Log.misuse(
                "",
                "called on another thread than the loop's own, and ignored; call this function on the loop's thread "
                    + "with grun_loop_post()")
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
            "ignored: this thread is in virtual time, so another loop replaces this one. Use that loop, or call this "
                + "function after virtual time")
        return true
    }

    @inline(__always) package var isInVirtualTime: Bool { virtualClock.load(ordering: .relaxed) != nil }

    /// The loop's clock in virtual time; nil if the loop is not in virtual time.
    @inline(__always) var virtualTime: VirtualClock? {
        virtualClock.load(ordering: .relaxed)?.takeUnretainedValue()
    }

    @inline(__always) package var time: Nanoseconds { isInVirtualTime ? virtualNow : .now() }
    private var virtualNow: Nanoseconds { virtualTime?.now ?? .now() }

    // MARK: Modes

    /// Returns the mode of that name, and makes it if it does not exist.
    func modeLocked(_ name: Mode) -> ModeState {
        if let mode = knownModeLocked(name) { return mode }
        let mode = ModeState(
            name: name, isCommon: commonModes.contains(name), number: number + UInt64(modes.count))
        modes[name] = mode
        modesByNumber[mode.number] = mode
        return mode
    }

    func knownModeLocked(_ name: Mode) -> ModeState? {
        // The default mode has a property of its own, so that the loop finds it without hashing a name.
        name == defaultMode.name ? defaultMode : modes[name]
    }

    /// The modes that exist, in no order. These are ``Mode/default`` and every mode to which an item, a block or a
    /// context was ever added. Modes that were pushed as the ambient mode are also included.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
    public var allModes: [Mode] {
        Fork.refuses("allModes") ? [] : lock.withLock { Array(modes.keys) }
    }

    /// The GLib context that every common mode serves.
    ///
    /// On the main thread it is GLib's default context. On another thread it is the thread's default context or, if the
    /// thread has none, a context that the loop makes.
    ///
    /// The main loop has a home context from the beginning. Another loop gets its home context when its thread first
    /// runs the loop, or adds the first item, block or context. Until then, this property is nil. The property is also
    /// nil while the loop is detached, and after the end of the loop's thread.
    ///
    /// Threads: any. The corresponding GLib functions are `g_main_context_default` and
    /// `g_main_context_ref_thread_default`.
    public var homeContext: Context? {
        Fork.refuses("homeContext") ? nil : lock.withLock { home.map { Context($0.context) } }
    }

    // MARK: What a mode waits for

    /// Returns the earliest date of a mode's timers and delayed performs, without their tolerances.
    ///
    /// - Returns: the date; nil if the mode has no timer and no delayed perform, or does not exist. A date in the past
    ///   means that the timer is overdue. For ``Mode/common`` the result is nil, because that name means several modes:
    ///   pass ``Mode/default`` instead.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetNextTimerFireDate`.
    public func nextFireDate(forMode name: Mode) -> Instant? {
        guard !Fork.refuses("nextFireDate") else { return nil }
        return lock.withLock { () -> Nanoseconds? in
            guard let mode = modes[name], mode.timerCount > 0 else { return nil }
            // A timer whose closure is running still counts, with the scheduled date of this fire (item 142).
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
