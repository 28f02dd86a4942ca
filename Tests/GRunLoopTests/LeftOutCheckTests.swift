// SPDX-License-Identifier: Apache-2.0
// GLib skips the check if a context's poll records changed since the query. A source may hold something from prepare to
// check, as GDK holds Wayland's read lock. User code that is called in between deadlocks.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

@Suite(.serialized) struct LeftOutCheckTests {
    @Test("no user code is called between prepare and check, even where GLib skips the check of the last wait")
    func repeatedBeforeTheItem() async throws {
        try await onFreshThread { loop in
            let context = TestContext()
            let watch = Between.attach(to: context.pointer)
            defer {
                g_source_destroy(watch)
                g_source_unref(watch)
            }
            g_main_context_set_poll_func(context.pointer, Between.changingPoll)
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            let found = Recorder()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
                found(Between.isOpen ? "between" : "outside")
                if found.lines.count == 5 { GRunLoop.current.stop() }
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default) == .stopped)
            #expect(Set(found.lines) == ["outside"])
            #expect(Between.changes >= 5)
        }
    }
}

/// A GLib source that is never ready, and a poll function that makes the context skip the check. Only one loop's thread
/// uses them.
private enum Between {
    nonisolated(unsafe) static var isOpen = false
    nonisolated(unsafe) static var changes = 0
    nonisolated(unsafe) private static var record = GPollFD(fd: -1, events: 0, revents: 0)
    nonisolated(unsafe) private static var context: OpaquePointer?

    nonisolated(unsafe) private static var functions = GSourceFuncs(
        prepare: { _, timeout in
            timeout?.pointee = -1
            Between.isOpen = true
            return 0
        },
        check: { _ in
            Between.isOpen = false
            return 0
        },
        dispatch: { _, _, _ in 1 }, finalize: nil, closure_callback: nil, closure_marshal: nil)

    static func attach(to context: OpaquePointer) -> UnsafeMutablePointer<GSource> {
        guard let source = g_source_new(&functions, guint(MemoryLayout<GSource>.size)) else {
            fatalError("no memory is left")
        }
        self.context = context
        g_source_attach(source, context)
        return source
    }

    /// Changes the poll records as another thread might, while the loop waits.
    static let changingPoll: GPollFunc = { records, count, timeout in
        let result = g_poll(records, count, timeout)
        withUnsafeMutablePointer(to: &Between.record) {
            g_main_context_add_poll(Between.context, $0, 0)
            g_main_context_remove_poll(Between.context, $0)
        }
        Between.changes += 1
        return result
    }
}
