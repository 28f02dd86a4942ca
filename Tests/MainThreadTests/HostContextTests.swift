// SPDX-License-Identifier: Apache-2.0
// Further contexts of a mode while a host drives: the host sleeps for them as well, and the loop dispatches them.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostContextTests: MainThreadTestCase {
    /// Adds a further context to a mode until the end of the test.
    private func furtherContext(_ mode: GRunLoop.Mode = .default) -> TestContext {
        let context = TestContext()
        loop.add(GRunLoop.Context(context.pointer), forMode: mode)
        addTeardownBlock { [loop] in loop.remove(GRunLoop.Context(context.pointer), forMode: mode) }
        return context
    }

    private func attach(_ source: GLibSource) {
        addTeardownBlock { source.destroy() }
    }

    /// In the ambient mode, the loop serves timeouts, and sources that another thread attaches during the host's sleep.
    func testIsServed() {
        let context = furtherContext()
        let trace = Recorder()
        attach(
            .timeout(context.pointer, milliseconds: 2) {
                trace("timeout in \(GRunLoop.main.currentMode?.rawValue ?? "none")")
                return false
            })
        iterateHost { trace.lines.count == 1 }
        let source = Shared<GLibSource?>(nil)
        whenAsleep {
            source.value = .idle(context.pointer) {
                trace("idle")
                return false
            }
        }
        iterateHost { trace.lines.count == 2 }
        XCTAssertEqual(trace.lines, ["timeout in kCFRunLoopDefaultMode", "idle"])
    }

    /// The host polls the context's descriptors. Each event is one dispatch, between afterWaiting and the next head.
    func testDescriptor() {
        let context = furtherContext()
        let pipe = Pipe()
        let trace = Recorder()
        attach(
            .readable(context.pointer, pipe.readEnd) {
                pipe.drain()
                trace("descriptor")
                return true
            })
        observe(trace)
        for _ in 0..<3 {
            iterateHost { trace.lines.last == "beforeWaiting" }
            _ = trace.take()
            whenAsleep { pipe.send() }
            iterateHost { trace.lines.last == "beforeWaiting" }
            XCTAssertEqual(
                trace.lines, ["afterWaiting", "descriptor", "beforeTimers", "beforeSources", "beforeWaiting"])
        }
    }

    /// The context is served in its mode only. It waits while another ambient mode is pushed.
    func testWaitsForItsMode() throws {
        let context = furtherContext()
        let trace = Recorder()
        let tracking = try loop.push(ambientMode: .tracking)
        attach(
            .idle(context.pointer) {
                trace("idle")
                return false
            })
        after(.milliseconds(5), .tracking) { trace("timer") }
        iterateHost { !trace.lines.isEmpty }
        XCTAssertEqual(trace.lines, ["timer"])
        tracking.pop()
        iterateHost { trace.lines.count == 2 }
        XCTAssertEqual(trace.lines, ["timer", "idle"])
    }

    /// A context that another thread owns is not touched. It is served after that thread has released it.
    func testOwnedElsewhere() {
        let context = furtherContext()
        let trace = Recorder()
        let owner = ContextOwner(context.pointer)
        attach(
            .idle(context.pointer) {
                trace("idle")
                return false
            })
        for _ in 0..<10 { g_main_context_iteration(nil, 0) }
        XCTAssertEqual(trace.lines, [])
        owner.letGo()
        loop.wakeUp()
        iterateHost { !trace.lines.isEmpty }
    }

    /// If its removal releases a context's last reference, the context is freed outside prepare, because its sources'
    /// notifies are user code.
    func testIsFreedOutsideOfPrepare() {
        let isGone = Flag()
        let context = try? XCTUnwrap(g_main_context_new())
        let source = g_timeout_source_new(3_600_000)
        let note = Unmanaged.passRetained(isGone).toOpaque()
        let notify: GDestroyNotify = { note in
            guard let note else { return }
            // Would deadlock under the loop's lock.
            GRunLoop.main.perform {}
            Unmanaged<Flag>.fromOpaque(note).takeRetainedValue().set()
        }
        g_source_set_callback(source, { _ in 0 }, note, notify)
        g_source_attach(source, context)
        g_source_unref(source)
        guard let context else { return }
        loop.add(GRunLoop.Context(context), forMode: .default)
        g_main_context_unref(context)
        for _ in 0..<3 { g_main_context_iteration(nil, 0) }
        XCTAssertFalse(isGone.isSet)
        loop.remove(GRunLoop.Context(context), forMode: .default)
        for _ in 0..<3 { g_main_context_iteration(nil, 0) }
        XCTAssertTrue(isGone.isSet)
    }

    /// item 196: as testIsFreedOutsideOfPrepare(), but the context is removed in its own callback. A loop of the host,
    /// nested there, has seen the removal, and the pass goes on with a timer.
    func testIsFreedWithoutALockInItsOwnPass() throws {
        let (isGone, trace) = (Flag(), Recorder())
        let context = try XCTUnwrap(g_main_context_new())
        let source = g_timeout_source_new(3_600_000)
        let notify: GDestroyNotify = { note in
            guard let note else { return }
            // Would deadlock under the loop's lock.
            GRunLoop.main.perform {}
            Unmanaged<Flag>.fromOpaque(note).takeRetainedValue().set()
        }
        g_source_set_callback(source, { _ in 0 }, Unmanaged.passRetained(isGone).toOpaque(), notify)
        g_source_attach(source, context)
        g_source_unref(source)
        loop.add(GRunLoop.Context(context), forMode: .default)
        g_main_context_unref(context)
        settleHost()
        let address = UInt(bitPattern: context)
        let idle = GLibSource.idle(context) {
            guard let context = OpaquePointer(bitPattern: address) else { return false }
            GRunLoop.main.remove(GRunLoop.Context(context), forMode: .default)
            settleHost()
            trace("removed")
            let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in trace("timer") }
            GRunLoop.main.add(timer, forMode: .default)
            return false
        }
        // The first pass dispatches the hub, and the context is dispatched by a later pass.
        after(.zero) { trace("first") }
        iterateHost { isGone.isSet }
        XCTAssertEqual(trace.lines, ["first", "removed", "timer"])
        withExtendedLifetime(idle) {}
    }
}
