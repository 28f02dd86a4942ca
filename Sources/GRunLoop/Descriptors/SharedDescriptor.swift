// SPDX-License-Identifier: Apache-2.0
// A descriptor that several sources of one mode watch: it decides which source gets which condition, and which source
// is called next.

/// The sources of one descriptor in one mode, and their turns. Guarded by the loop's lock.
struct SharedDescriptor {
    private struct Member {
        let source: GRunLoop.DescriptorSource
        /// When the source was called last, counted in turns. It is kept across batches and runs, because a program may
        /// make one run for each event.
        var lastTurn: UInt64
    }

    /// In the order of addition.
    private var members: [Member]
    private var turns: UInt64 = 2

    /// - Parameter second: the source that was added later.
    init(_ first: GRunLoop.DescriptorSource, _ second: GRunLoop.DescriptorSource) {
        members = [Member(source: first, lastTurn: 0), Member(source: second, lastTurn: 1)]
    }

    var sources: [GRunLoop.DescriptorSource] { members.map(\.source) }

    /// Finds a source without allocating memory, unlike ``sources``.
    func first(where isWanted: (GRunLoop.DescriptorSource) -> Bool) -> GRunLoop.DescriptorSource? {
        for member in members where isWanted(member.source) { return member.source }
        return nil
    }

    /// Adds a source, whose turn comes after the others but before the source that was called last. So a source is not
    /// always first if it is added again in each of its own calls, or in each call of another source.
    mutating func add(_ source: GRunLoop.DescriptorSource) {
        members.append(Member(source: source, lastTurn: turns - 1))
    }

    mutating func remove(_ source: GRunLoop.DescriptorSource) {
        members.removeAll { $0.source === source }
    }

    /// Returns the source to call for `events`: among the sources that get a condition, the one that has waited
    /// longest. If several sources wait for one condition, the last one added gets it (item 109). Hang-ups and errors
    /// go to all.
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
