// SPDX-License-Identifier: Apache-2.0
// Finds the object that a callback of GDBus is for.

import CGRunGIO

/// The objects of callbacks, by number. GDBus gets the number as its user data.
///
/// If GDBus got a reference, it would release the reference in the context of the subscribing thread, and never if the
/// loop of this context has ended. A number that is not in the table any more does no harm.
enum CallbackTable {
    private struct Table {
        var objects: [UInt: any AnyObject & Sendable] = [:]
        var last: UInt = 0
    }

    private static let table = Guarded(Table())

    /// Keeps an object until ``remove(_:)``. Returns the user data for GDBus.
    static func add(_ object: any AnyObject & Sendable) -> UInt {
        table.withLock { table in
            table.last += 1
            table.objects[table.last] = object
            return table.last
        }
    }

    static func remove(_ number: UInt) {
        // The object is released after unlocking.
        let object = table.withLock { $0.objects.removeValue(forKey: number) }
        withExtendedLifetime(object) {}
    }

    /// The object of a callback; nil if the object was removed.
    static func object<Object>(_ data: gpointer?, as type: Object.Type = Object.self) -> Object? {
        let number = UInt(bitPattern: data)
        return table.withLock { $0.objects[number] } as? Object
    }
}
