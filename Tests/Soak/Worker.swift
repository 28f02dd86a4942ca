// SPDX-License-Identifier: Apache-2.0
// Loops that are made and ended continuously, each on its own thread.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport

/// A thread with a loop. A run or a host drives the loop until the worker is ended.
final class Worker: @unchecked Sendable {
    let consumer: Consumer
    private let endIt: () -> Void

    private init(_ consumer: Consumer, end: @escaping () -> Void) {
        self.consumer = consumer
        endIt = end
        Census.shared.loops.add()
    }

    /// Makes a worker of one of the forms below that the driver supports.
    static func make(_ name: String, form: Int) -> Worker {
        if Settings.isHosted { return form == 3 ? withThread(name) : withHost(name) }
        switch form {
        case 0: return withHost(name)
        case 1: return withThread(name)
        default: return withRuns(name)
        }
    }

    /// Waits for the loop's users, ends the loop, and checks what is left.
    func end() {
        consumer.close()
        // Waits longer than the users wait for their events, because they can report which event is missing.
        waitFor("the release of \(consumer.name)", on: consumer, patience: Settings.patience * 3) { consumer.isUnused }
        endIt()
        // The remaining elements are in the queue and the port, which are in no loop any more.
        consumer.idleQueue.invalidate()
        consumer.port.invalidate()
        for lane in consumer.allLanes { lane.balanceOfEnded() }
        consumer.forget()
    }

    // MARK: Forms

    /// `GRunLoop.Thread`.
    private static func withThread(_ name: String) -> Worker {
        let made = Shared<Consumer?>(nil)
        do {
            let thread = try GRunLoop.Thread(name: name) { _ in
                let consumer = Consumer("\(name), a GRunLoop.Thread", isHosted: false)
                let leavings = Leavings(consumer)
                // The loop can still be run in an end handler.
                _ = try? consumer.loop.addEndHandler {
                    leavings.expectEnd()
                    drain(consumer) { _ = consumer.loop.run(for: .zero) }
                }
                made.value = consumer
            }
            guard let consumer = made.value else { fatalError("the thread has no loop") }
            return Worker(consumer) {
                thread.stop()
                thread.join()
            }
        } catch {
            Findings.end("no thread: \(error)")
        }
    }

    /// Runs of every form, one after the other.
    private static func withRuns(_ name: String) -> Worker {
        let (made, isOver, hasEnded) = (Shared<Consumer?>(nil), Flag(), Flag())
        let thread = startThread {
            let consumer = Consumer("\(name), own runs", isHosted: false)
            let loop = consumer.loop
            let leavings = Leavings(consumer)
            made.value = consumer
            var round = 0
            while !isOver.isSet {
                runOnce(loop, round)
                round += 1
            }
            leavings.expectEnd()
            drain(consumer) { _ = loop.run(for: .zero) }
            hasEnded.set()
        }
        _ = made.wait { $0 != nil }
        guard let consumer = made.value else { fatalError("the thread did not start") }
        return Worker(consumer) {
            isOver.set()
            // A stop between two runs has no effect, so the stop is repeated.
            while !hasEnded.wait(timeout: .milliseconds(1)) { consumer.loop.stop() }
            join(thread)
        }
    }

    /// `g_main_loop_run` in the thread's default context.
    private static func withHost(_ name: String) -> Worker {
        let (made, host) = (Shared<Consumer?>(nil), Shared<OpaquePointer?>(nil))
        let thread = startThread {
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            let consumer = Consumer("\(name), g_main_loop_run", isHosted: true)
            let leavings = Leavings(consumer)
            let own = g_main_loop_new(context, 0)
            host.value = own
            made.value = consumer
            g_main_loop_run(own)
            leavings.expectEnd()
            drain(consumer) { _ = g_main_context_iteration(context, 0) }
            g_main_loop_unref(own)
            g_main_context_pop_thread_default(context)
            g_main_context_unref(context)
        }
        _ = made.wait { $0 != nil }
        guard let consumer = made.value else { fatalError("the thread did not start") }
        return Worker(consumer) {
            // Quits inside the run, because a quit before the run has no effect.
            Callbacks.idle(in: consumer.home.pointer) {
                g_main_loop_quit(host.value)
                return false
            }
            join(thread)
        }
    }

    /// Makes the last passes, until everything that was accepted is delivered.
    private static func drain(_ consumer: Consumer, _ pass: () -> Void) {
        consumer.prepareEnd()
        let end = GRunLoop.now.advanced(by: Settings.patience)
        while !consumer.hasDelivered, GRunLoop.now < end { pass() }
    }
}
