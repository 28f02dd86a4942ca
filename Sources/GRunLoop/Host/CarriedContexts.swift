// SPDX-License-Identifier: Apache-2.0
// The contexts that the loop serves under a host, without the home context, which the host itself iterates.

import CGRun
import CGRunGLib

/// The contexts that are *carried* into the home context. A GSource in the home context watches the descriptors of each
/// carried context (carrier.c). Used on the loop's thread only.
struct CarriedContexts {
    private struct Carried {
        let served: ServedContext
        let carrier: UnsafeMutablePointer<GSource>
    }

    private var list: [Carried] = []
    /// The mode whose contexts are carried. Stored as an identity, because comparing references would retain and
    /// release the mode.
    private var mode: ObjectIdentifier?
    private var version = -1

    var isEmpty: Bool { list.isEmpty }

    /// The carried contexts that the loop's thread owns now.
    var served: [ServedContext] {
        list.compactMap { cgrun_carrier_owns_context($0.carrier) ? $0.served : nil }
    }

    /// Returns whether the contexts of this mode and version are carried already.
    func isCurrent(_ mode: ObjectIdentifier, _ version: Int) -> Bool {
        self.mode == mode && self.version == version
    }

    /// Carries exactly the `wanted` contexts. Returns the contexts that are no longer carried; the caller releases them
    /// without the lock.
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

    /// Permanently stops watching the descriptors of the carried contexts.
    func abandon() {
        for carried in list { cgrun_carrier_abandon(carried.carrier) }
    }

    /// Stops carrying all contexts. Returns the contexts; the caller releases them without the lock.
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
