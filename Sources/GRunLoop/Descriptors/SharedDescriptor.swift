// SPDX-License-Identifier: Apache-2.0
// Shares one descriptor among several sources of a mode, and chooses the source to call next.

/// The sources of one descriptor in one mode, and their turns. Guarded by the loop's lock.
struct SharedDescriptor {
    private struct Member {
        let source: GRunLoop.DescriptorSource
        /// The number of the source's last turn. The number is kept across batches and runs, because a program may
        /// start a new run for each event.
        var lastTurn: UInt64
    }

    /// The sources, in the order in which they were added.
    private var members: [Member]
    private var turns: UInt64 = 2

    /// - Parameter second: the source that was added later.
    init(_ first: GRunLoop.DescriptorSource, _ second: GRunLoop.DescriptorSource) {
        members = [Member(source: first, lastTurn: 0), Member(source: second, lastTurn: 1)]
    }

    var sources: [GRunLoop.DescriptorSource] { members.map(\.source) }

    /// Returns the first source that matches, without allocating memory; ``sources`` allocates.
    func first(where isWanted: (GRunLoop.DescriptorSource) -> Bool) -> GRunLoop.DescriptorSource? {
        for member in members where isWanted(member.source) { return member.source }
        return nil
    }

    /// Adds a source. The new source is called after the other sources, but before the source that was called most
    /// recently. Otherwise a source that is removed and added again in each call would always be called first.
    mutating func add(_ source: GRunLoop.DescriptorSource) {
        members.append(Member(source: source, lastTurn: turns - 1))
    }

    mutating func remove(_ source: GRunLoop.DescriptorSource) {
        members.removeAll { $0.source === source }
    }

    /// Returns the source to call for `events`. If several sources wait for one condition, only the source that was
    /// added last gets it (item 109). Every source gets hang-ups and errors. If several sources have a condition to
    /// report, the source that was not called for the longest time is next.
    func receiver(of events: UInt32) -> DescriptorSet.Receiver? {
        var claimed: GRunLoop.DescriptorSource.Conditions = []
        var next: (member: Member, ready: GRunLoop.DescriptorSource.Conditions)?
        for member in members.reversed() {
            let conditions = member.source.conditionsLocked
            let ready = conditions.subtracting(claimed).happened(in: events)
            claimed.formUnion(conditions)
            guard !ready.isEmpty, next.map({ member.lastTurn < $0.member.lastTurn }) ?? true else { continue }
            next = (member, ready)
        }
        return next.map { (.passUnretained($0.member.source), $0.ready, true) }
    }

    mutating func noteTurn(of source: GRunLoop.DescriptorSource) {
        guard let index = members.firstIndex(where: { $0.source === source }) else { return }
        turns += 2
        members[index].lastTurn = turns
    }
}
