// SPDX-License-Identifier: Apache-2.0
// The further contexts of the ambient mode, which a host that iterates the home context serves as well.

import CGRun
import CGRunGLib

/// The contexts that are carried into the home context now. Loop's thread only, except at the end of that thread.
struct CarriedContexts {
    private struct Carried {
        let served: ServedContext
        let carrier: UnsafeMutablePointer<GSource>
    }

    private var list: [Carried] = []
    /// The mode that they are of. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private var version = -1

    var isEmpty: Bool { list.isEmpty }

    /// Those that no other thread owns.
    var served: [ServedContext] {
        list.compactMap { cgrun_carrier_owns_context($0.carrier) ? $0.served : nil }
    }

    /// Whether ``update(to:of:version:into:)`` would change anything.
    func isCurrent(_ mode: ObjectIdentifier, _ version: Int) -> Bool {
        self.mode == mode && self.version == version
    }

    /// Carries exactly the `wanted` contexts. Returns those that were dropped, to be released without the lock.
    mutating func update(
        to wanted: [ServedContext], of mode: ObjectIdentifier, version: Int, into hub: UnsafeMutablePointer<GSource>
    ) -> [ServedContext] {
        let former = list
        list = wanted.map { served in
            former.first { $0.served === served }
                ?? Carried(served: served, carrier: cgrun_carrier_new(hub, served.context, served.hub))
        }
        self.mode = mode
        self.version = version
        return former.filter { old in !list.contains { $0.served === old.served } }.map(Self.close)
    }

    /// Ends watching their descriptors, for good.
    func abandon() {
        for carried in list { cgrun_carrier_abandon(carried.carrier) }
    }

    /// Carries none any more. Returns those that were dropped.
    mutating func removeAll() -> [ServedContext] {
        defer { (list, mode, version) = ([], nil, -1) }
        return list.map(Self.close)
    }

    private static func close(_ carried: Carried) -> ServedContext {
        cgrun_carrier_close(carried.carrier)
        g_source_unref(carried.carrier)
        return carried.served
    }
}
