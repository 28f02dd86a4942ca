// SPDX-License-Identifier: Apache-2.0
// The items and contexts of one mode of a loop.

import CGRun
import Synchronization

/// The state of one mode of one loop. It lives as long as the loop. Guarded by the loop's lock.
package final class ModeState {
    /// How many of the lowest bits of ``number`` are the mode's index in its loop. The default mode has the index 0.
    private static let indexBits = 28
    private static let loops = Atomic<UInt64>(0)
    /// The number of the default mode of a new loop. 2^35 loops have different numbers.
    static var newNumber: UInt64 { loops.add(1, ordering: .relaxed).newValue << indexBits }
    /// Returns the ``GRunLoop/number`` of the loop of the mode with this number.
    static func loopNumber(of number: UInt64) -> UInt64 { number & ~((1 << indexBits) - 1) }

    package let name: GRunLoop.Mode
    /// A positive number that no other mode of the process has, even if the loop of one mode has ended.
    let number: UInt64
    /// Whether the mode is one of the loop's common modes. The loop changes this property together with
    /// ``GRunLoop/commonModes``.
    var isCommon: Bool

    /// Version-0 sources.
    @exclusivity(unchecked) var sources: [ObjectIdentifier: SourceMembership] = [:]
    @exclusivity(unchecked) var signalled = SignalledSources()

    /// Version-1 sources.
    let descriptors: DescriptorSet
    /// The descriptor that was serviced last, stored as the data of its epoll event (number and generation); 0 if there
    /// is none. The next batch of events begins after this descriptor. The number alone is not enough, because the
    /// number may belong to another file by now.
    var lastWatch: UInt64 = 0

    /// The timers and delayed performs, ordered by deadline. A timer of the mode is either in this heap or in `firing`.
    @exclusivity(unchecked) var heap = TimerHeap(greatestOrder: perturbs(CGRUN_SITE_COUNTER) ? 3 : .max)
    /// The timers of the mode whose closures are being called. The loop needs this list to find these timers when it
    /// ends. The thread that calls such a closure may belong to another loop, because a closure can move its timer to
    /// this loop.
    @exclusivity(unchecked) var firing: [Unmanaged<GRunLoop.Timer>] = []
    /// How many timers and delayed performs are in the mode, including timers and performs that are firing. The mode
    /// retains each timer.
    var timerCount = 0

    @exclusivity(unchecked) var observers = ObserverList()
    /// The activities that the mode's observers watch. Includes beforeWaiting while there is idle work.
    var observed: GRunLoop.Activity = []
    /// Whether stage 7 or 9 has to notify an observer or call idle work.
    var areWaitsObserved: Bool { !observed.isDisjoint(with: [.beforeWaiting, .afterWaiting]) }

    @exclusivity(unchecked) var idleQueues = TurnList<GRunLoop.IdleQueue>()
    @exclusivity(unchecked) var ports = TurnList<GRunLoop.Port>()

    let blocks = BlockQueue()

    @exclusivity(unchecked) var addedContexts: [ServedContext] = []
    /// The context of a mode that is not common, made when the mode first runs.
    var ownContext: ServedContext?
    /// Counts changes of the mode's contexts. A run compares the count to decide whether to acquire the contexts again.
    var contextsVersion = 0 {
        // Releasing the list calls no user code, because code that removes a context retains the context until the lock
        // is released.
        didSet { contexts = nil }
    }
    /// All contexts of the mode, as a cache; nil after a change.
    var contexts: [ServedContext]?

    init(
        name: GRunLoop.Mode, isCommon: Bool, number: UInt64 = newNumber, descriptors: DescriptorSet = DescriptorSet()
    ) {
        self.name = name
        self.isCommon = isCommon
        self.number = number
        self.descriptors = descriptors
    }

    deinit {
        blocks.deallocate()
    }

    /// Whether the mode holds an item or a context that prevents the result `finished`. Blocks, idle work and the main
    /// queue are not counted.
    var hasItems: Bool {
        timerCount > 0 || !ports.isEmpty || !sources.isEmpty || !descriptors.isEmpty || !addedContexts.isEmpty
    }

    /// Whether the mode holds no item. Blocks are not counted.
    var isEmpty: Bool { !hasItems && firing.isEmpty && observers.isEmpty && idleQueues.isEmpty }
}
