// SPDX-License-Identifier: Apache-2.0
// The state of one mode of one loop: its items and its contexts.

import CGRun
import Synchronization

/// The state of one mode of one loop. It lives as long as the loop. Guarded by the loop's lock.
package final class ModeState {
    private static let made = Atomic<UInt64>(0)

    package let name: GRunLoop.Mode
    /// A number from 1 on, which no other mode of the process ever has.
    let number = made.add(1, ordering: .relaxed).newValue
    /// Whether the mode is one of the loop's common modes. The loop changes this together with its `commonModes`.
    var isCommon: Bool

    /// Version-0 sources.
    @exclusivity(unchecked) var sources: [ObjectIdentifier: SourceMembership] = [:]
    @exclusivity(unchecked) var signalled = SignalledSources()

    /// Version-1 sources.
    let descriptors: DescriptorSet
    /// The watch of the descriptor that was serviced last; 0 if there is none. Service goes on with the ready
    /// descriptor after it. It is not the descriptor's number, because a file that gets the number later has not had
    /// its turn.
    var lastWatch: UInt64 = 0

    /// The timers and delayed performs, ordered by deadline. A timer of the mode is either here or in `firing`.
    @exclusivity(unchecked) var heap = TimerHeap(greatestOrder: perturbs(CGRUN_SITE_COUNTER) ? 3 : .max)
    /// The timers of the mode whose closures are being called. A closure can move its timer to another loop, so the
    /// calling thread may be that of another loop. At the end of the loop, the loop finds these timers here.
    @exclusivity(unchecked) var firing: [Unmanaged<GRunLoop.Timer>] = []
    /// How many timers and delayed performs are in the mode, including those that are firing. The mode retains each
    /// timer.
    var timerCount = 0

    @exclusivity(unchecked) var observers = ObserverList()
    /// The activities that any observer of the mode watches. While there is idle work, beforeWaiting is one of them.
    var observed: GRunLoop.Activity = []
    /// Whether stage 7 or 9 has to notify an observer or call idle work.
    var areWaitsObserved: Bool { !observed.isDisjoint(with: [.beforeWaiting, .afterWaiting]) }

    @exclusivity(unchecked) var idleQueues = TurnList<GRunLoop.IdleQueue>()
    @exclusivity(unchecked) var ports = TurnList<GRunLoop.Port>()

    let blocks = BlockQueue()

    /// The contexts that the program added.
    @exclusivity(unchecked) var addedContexts: [ServedContext] = []
    /// The context of a mode that is not common, made when the mode first runs.
    var ownContext: ServedContext?
    /// Counts changes of the mode's contexts, so that a run knows when to acquire them again.
    var contextsVersion = 0 {
        // Releasing the old value calls no user code: the code that removes a context holds it until the lock is
        // released.
        didSet { contexts = nil }
    }
    /// All contexts of the mode; nil until they are asked for after a change.
    var contexts: [ServedContext]?

    init(name: GRunLoop.Mode, isCommon: Bool, descriptors: DescriptorSet = DescriptorSet()) {
        self.name = name
        self.isCommon = isCommon
        self.descriptors = descriptors
    }

    deinit {
        blocks.deallocate()
    }

    /// Whether the mode holds anything that keeps it from being finished. Blocks, idle work and the main queue are not
    /// counted.
    var hasItems: Bool {
        timerCount > 0 || !ports.isEmpty || !sources.isEmpty || !descriptors.isEmpty || !addedContexts.isEmpty
    }

    /// Whether the mode holds no item. Blocks are not counted.
    var isEmpty: Bool { !hasItems && firing.isEmpty && observers.isEmpty && idleQueues.isEmpty }
}
