// SPDX-License-Identifier: Apache-2.0
// GLib sources whose closure is called until it returns false, and whose notify is called once.

import CGRunGLib
import GRunLoop
import TestSupport

/// GLib gets a number. A lock of the soak guards the closures, because no sanitizer sees GLib's own lock.
enum Callbacks {
    private static let closures = Shared<[Int: @Sendable () -> Bool]>([:])
    private static let lastNumber = Counted()

    /// Attaches a source, so an iteration of the context calls `body`. An invocation could call it on this thread.
    static func idle(in context: OpaquePointer?, _ body: @escaping @Sendable () -> Bool) {
        attach(g_idle_source_new(), context, body)
    }

    static func timeout(in context: OpaquePointer?, milliseconds: UInt32, _ body: @escaping @Sendable () -> Bool) {
        attach(g_timeout_source_new(milliseconds), context, body)
    }

    private static func attach(
        _ source: UnsafeMutablePointer<GSource>?, _ context: OpaquePointer?, _ body: @escaping @Sendable () -> Bool
    ) {
        let number = lastNumber.add()
        closures.update { $0[number] = body }
        g_source_set_priority(source, 0)
        g_source_set_callback(
            source, { Callbacks.call($0) ? 1 : 0 }, UnsafeMutableRawPointer(bitPattern: number), { Callbacks.drop($0) })
        g_source_attach(source, context)
        g_source_unref(source)
    }

    private static func call(_ data: UnsafeMutableRawPointer?) -> Bool {
        guard let body = closures.update({ $0[Int(bitPattern: data)] }) else {
            Findings.add("called after its notify: a callback of GLib's")
            return false
        }
        return body()
    }

    private static func drop(_ data: UnsafeMutableRawPointer?) {
        let body = closures.update { $0.removeValue(forKey: Int(bitPattern: data)) }
        if body == nil { Findings.add("notify: called twice, of a callback of GLib's") }
    }

    /// The number of closures whose notify was not called.
    static var count: Int { closures.update { $0.count } }
}
