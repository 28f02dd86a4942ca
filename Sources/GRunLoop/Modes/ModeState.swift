// SPDX-License-Identifier: Apache-2.0
// The state of one mode of one loop: its items and its contexts. It lives as long as the loop.

import CGRun
import Synchronization

/// Guarded by the loop's lock.
final class ModeState {
    private static let made = Atomic<UInt64>(0)

    let name: GRunLoop.Mode
    /// From 1. No other mode of the process ever has it.
    let number = made.add(1, ordering: .relaxed).newValue
    /// Whether the loop has it among its common modes, which changes both.
    var isCommon: Bool

    /// Version-0 sources.
    @exclusivity(unchecked) var sources: [ObjectIdentifier: SourceMembership] = [:]
    @exclusivity(unchecked) var signalled = SignalledSources()

    /// Version-1 sources.
    let descriptors: DescriptorSet
    /// The watch of the descriptor that was serviced last; 0 if there is none. Service goes on with the ready
    /// descriptor after it. The number is not enough, because a file that gets the number later has not had its turn.
    var lastWatch: UInt64 = 0

    /// The timers and delayed performs by deadline. A timer of the mode is either here or in `firing`.
    @exclusivity(unchecked) var heap = TimerHeap(greatestOrder: perturbs(CGRUN_SITE_COUNTER) ? 3 : .max)
    /// The timers of the mode whose closures are on a stack, perhaps on the stack of another loop's thread: a closure
    /// can move its timer. The end of the loop finds them here.
    @exclusivity(unchecked) var firing: [Unmanaged<GRunLoop.Timer>] = []
    /// How many timers and delayed performs are in the mode, those that are firing among them. It retains each timer.
    var timerCount = 0

    @exclusivity(unchecked) var observers = ObserverList()
    /// The activities that any observer watches; with idle work beforeWaiting as well.
    var observed: GRunLoop.Activity = []
    /// Whether stages 7 or 9 have an observer.
    var areWaitsObserved: Bool { !observed.isDisjoint(with: [.beforeWaiting, .afterWaiting]) }

    @exclusivity(unchecked) var idleQueues = TurnList<GRunLoop.IdleQueue>()
    @exclusivity(unchecked) var ports = TurnList<GRunLoop.Port>()

    let blocks = BlockQueue()

    /// The contexts that the program added.
    @exclusivity(unchecked) var addedContexts: [ServedContext] = []
    /// The context of a private mode, made when the mode first runs.
    var ownContext: ServedContext?
    /// Counts changes of the mode's contexts, so that a run knows when to acquire them anew.
    var contextsVersion = 0 {
        // A context that is removed from the mode is held by its remover until the lock is released.
        didSet { contexts = nil }
    }
    /// All contexts of the mode, cached once they were asked for.
    var contexts: [ServedContext]?

    init(name: GRunLoop.Mode, isCommon: Bool, descriptors: DescriptorSet = DescriptorSet()) {
        self.name = name
        self.isCommon = isCommon
        self.descriptors = descriptors
    }

    deinit {
        blocks.deallocate()
    }

    /// Whether the mode holds anything that keeps it from being finished, blocks and the main queue apart.
    var hasItems: Bool {
        !sources.isEmpty || timerCount > 0 || !descriptors.isEmpty || !addedContexts.isEmpty || !ports.isEmpty
    }

    /// Whether the mode holds no item. Blocks are not counted.
    var isEmpty: Bool { !hasItems && firing.isEmpty && observers.isEmpty && idleQueues.isEmpty }
}
