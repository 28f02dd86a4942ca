// SPDX-License-Identifier: Apache-2.0
// Which version-0 sources of a mode may be signalled.

/// A source in a mode of a loop. The source and the mode hold it, until the source leaves.
final class SourceMembership {
    let source: GRunLoop.Source
    let loop: GRunLoop
    let mode: ModeState

    // Guarded by the loop's lock.
    /// False once the source has left: whoever is still about to tell of a signal tells nobody.
    @exclusivity(unchecked) var isIn = true
    /// Where it stands among the signalled ones, -1 for nowhere.
    @exclusivity(unchecked) fileprivate var place = -1

    init(of source: GRunLoop.Source, in mode: ModeState, of loop: GRunLoop) {
        self.source = source
        self.mode = mode
        self.loop = loop
    }

    var isListed: Bool { place >= 0 }

    /// Tells the loop that the source was signalled. Any thread, without a lock.
    func noteSignal() {
        loop.lock.withLock {
            guard isIn else { return }
            mode.signalled.insert(self)
            loop.owePassToHostLocked()
        }
    }
}

/// Every source of a mode that is signalled, and perhaps one that was performed in another mode since; in no order. Guarded by the
/// loop's lock. Each knows its place: a signal and a perform cost no search and no hash.
struct SignalledSources {
    private(set) var list: [SourceMembership] = []

    @inline(__always) var isEmpty: Bool { list.isEmpty }

    @inline(__always) mutating func insert(_ membership: SourceMembership) {
        guard !membership.isListed else { return }
        membership.place = list.count
        list.append(membership)
    }

    @inline(__always) mutating func remove(_ membership: SourceMembership) {
        guard membership.isListed else { return }
        let last = list.removeLast()
        if last !== membership {
            list[membership.place] = last
            last.place = membership.place
        }
        membership.place = -1
    }
}
