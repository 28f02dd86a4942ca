// SPDX-License-Identifier: Apache-2.0
// A reference to a GObject, which Swift releases.

import CGRunGIO

/// A pointer to a GObject: a typed pointer, or an `OpaquePointer` where C hides the structure.
public protocol GObjectPointer {
    /// The address of the object. Threads: any.
    var objectAddress: UnsafeMutableRawPointer { get }
}

extension UnsafeMutablePointer: GObjectPointer {
    /// The pointer itself. Threads: any.
    public var objectAddress: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }
}

extension OpaquePointer: GObjectPointer {
    /// The pointer itself. Threads: any.
    public var objectAddress: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }
}

/// Owns one reference to a GObject, and releases this reference when Swift releases the `GRef`.
///
/// Choose the initializer by the ownership of the C function's result: the function's documentation says *transfer
/// full*, *transfer none* or *floating*.
///
/// Threads: the threads on which the object may be used. The `GRef` is not `Sendable`, because Swift may release it on
/// any thread that uses it. A widget, for example, must be released on GTK's thread. The corresponding GLib functions
/// are `g_object_ref` and `g_object_unref`.
public final class GRef<Pointer: GObjectPointer> {
    /// The object, which lives as long as the `GRef`. Swift may release the `GRef` after its last use, so keep the
    /// `GRef` in a property, or use `withExtendedLifetime`. Threads: those of the object.
    public let pointer: Pointer

    /// Takes over a reference that a function has returned as *transfer full*. Threads: those of the object.
    public init(full pointer: Pointer) { self.pointer = pointer }

    /// Takes over a reference that a function has returned as *transfer full*. The result is nil if the function has
    /// returned NULL. Threads: those of the object.
    public convenience init?(full pointer: Pointer?) {
        guard let pointer else { return nil }
        self.init(full: pointer)
    }

    /// Adds a reference to an object that a function has returned as *transfer none*. Threads: those of the object.
    public init(retaining pointer: Pointer) {
        g_object_ref(pointer.objectAddress)
        self.pointer = pointer
    }

    /// Takes over the floating reference of a new widget or another `GInitiallyUnowned`. If the reference is not
    /// floating, adds a reference. Threads: those of the object.
    public init(sinking pointer: Pointer) {
        g_object_ref_sink(pointer.objectAddress)
        self.pointer = pointer
    }

    deinit { g_object_unref(pointer.objectAddress) }
}
