// SPDX-License-Identifier: Apache-2.0
// Counts the things that operations must not leave: objects, descriptors, child processes, memory.

import CGRunGIO
import Glibc
import TestSupport

/// Counts the objects of GLib that live.
enum Census {
    private static let living = Shared(0)

    static var count: Int { living.value }

    /// Counts an object until it is finalized.
    static func add(_ object: UnsafeMutableRawPointer) {
        living.update { $0 += 1 }
        g_object_weak_ref(
            object.assumingMemoryBound(to: GObject.self), { _, _ in Census.living.update { $0 -= 1 } }, nil)
    }

    static func add(_ object: OpaquePointer) { add(UnsafeMutableRawPointer(object)) }
}

/// How many references an object has.
func references(_ object: UnsafeMutableRawPointer) -> Int {
    Int(object.assumingMemoryBound(to: GObject.self).pointee.ref_count)
}

/// The targets of all open descriptors, such as "anon_inode:[eventfd]".
func openDescriptors() -> [String] {
    (0..<Int32(getdtablesize())).compactMap { descriptor in
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
        return count < 0 ? nil : String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Whether this process has a child, which may be a zombie.
func hasChild() -> Bool {
    var info = siginfo_t()
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD
}

/// A number when it does not change any more: threads of GLib and of Swift may still release what a storm has used.
func settled(_ number: () -> Int) -> Int {
    var (value, repeats) = (number(), 0)
    for _ in 0..<1000 where repeats < 20 {
        usleep(1000)
        let now = number()
        repeats = now == value ? repeats + 1 : 0
        value = now
    }
    return value
}

/// Repeats until a closure returns nil. Returns its last text after a timeout.
func untilNil(_ body: () -> String?) -> String? {
    var text = body()
    let end = g_get_monotonic_time() + 20_000_000
    while text != nil, g_get_monotonic_time() < end {
        usleep(1000)
        text = body()
    }
    return text
}
