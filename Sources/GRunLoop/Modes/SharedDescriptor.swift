// SPDX-License-Identifier: Apache-2.0
// A descriptor that several sources of one mode watch: what of an event is whose, and whose turn it is.

/// Guarded by the loop's lock.
struct SharedDescriptor {
    private struct Member {
        let source: GRunLoop.DescriptorSource
        /// When it was called last, counted in turns. It outlives a batch and a run: a program may make a run of every
        /// event.
        var lastTurn: UInt64
    }

    /// In the order of addition.
    private var members: [Member]
    private var turns: UInt64 = 2

    /// `second` came later.
    init(_ first: GRunLoop.DescriptorSource, _ second: GRunLoop.DescriptorSource) {
        members = [Member(source: first, lastTurn: 0), Member(source: second, lastTurn: 1)]
    }

    var sources: [GRunLoop.DescriptorSource] { members.map(\.source) }

    /// Comes behind the others, but for the one that was called last: neither a source that is added again in each of
    /// its own calls nor one that is in each of another's must always be first.
    mutating func add(_ source: GRunLoop.DescriptorSource) {
        members.append(Member(source: source, lastTurn: turns - 1))
    }

    mutating func remove(_ source: GRunLoop.DescriptorSource) {
        members.removeAll { $0.source === source }
    }

    /// Who is to be called for `events`: of those who get anything of it the one that has waited longest. Of several
    /// that wait for one condition the last gets it (item 109); hanging up and failing are everybody's.
    func receiver(of events: UInt32) -> DescriptorSet.Receiver? {
        var claimed: GRunLoop.DescriptorSource.Conditions = []
        var next: (member: Member, ready: GRunLoop.DescriptorSource.Conditions)?
        for member in members.reversed() {
            let conditions = member.source.conditions
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
