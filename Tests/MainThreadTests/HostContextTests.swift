// SPDX-License-Identifier: Apache-2.0
// Further contexts of a mode while a host drives: the host sleeps for them as well, and the loop dispatches them.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostContextTests: MainThreadTestCase {
    /// A further context of a mode, until the end of the test.
    private func furtherContext(_ mode: GRunLoop.Mode = .default) -> TestContext {
        let context = TestContext()
        loop.add(GRunLoop.Context(context.pointer), forMode: mode)
        addTeardownBlock { [loop] in loop.remove(GRunLoop.Context(context.pointer), forMode: mode) }
        return context
    }

    private func attach(_ source: GLibSource) {
        addTeardownBlock { source.destroy() }
    }

    /// Its timeouts and what another thread attaches while the host sleeps are served by the loop, in the ambient mode.
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

    /// The host polls its descriptors: each event is one dispatch, between afterWaiting and the next head.
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

    /// It is served in its mode only: while another ambient mode is pushed, it waits.
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

    /// One that another thread owns is left alone, and served once that thread has let it go.
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

    /// A context whose last reference goes with its removal is freed outside prepare: what its sources notify is user
    /// code.
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

    /// item 196: so it is where it goes in its own callback, a loop of the host's that is nested there has seen that it
    /// has gone, and the pass goes on with a timer.
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
        // The hub is dispatched for its own sake, and the context by its pass.
        after(.zero) { trace("first") }
        iterateHost { isGone.isSet }
        XCTAssertEqual(trace.lines, ["first", "removed", "timer"])
        withExtendedLifetime(idle) {}
    }
}
