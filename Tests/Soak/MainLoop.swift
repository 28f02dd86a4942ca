// SPDX-License-Identifier: Apache-2.0
// The main thread: whoever drives the main loop, and in which way at the moment.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport

final class MainLoop: @unchecked Sendable {
    enum Way {
        /// Runs of every form.
        case short
        /// One run, which sleeps until it is woken: nothing but what it is given ends its sleep.
        case long
        /// None: the loop is out of its host, and holds no descriptor that it can do without.
        case quiet
        case over
    }

    let consumer: Consumer
    private let wanted = Shared(Way.short)
    private let actual = Shared(Way.short)
    private let host: OpaquePointer?

    init() {
        consumer = Consumer("the main loop", isMain: true, isHosted: Settings.isHosted)
        host = Settings.isHosted ? g_main_loop_new(nil, 0) : nil
        makeLasting()
    }

    /// What comes into being at the first use, and then stays: a mode's context and epoll, libdispatch's manager. A
    /// slow machine does not come to all of it in the rounds of the warm-up, and each would be taken for a leak.
    private func makeLasting() {
        let event = EventDescriptor()
        for mode: GRunLoop.Mode in [.default, .soak, .ambient, .inner] {
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor, conditions: .readable) { _, _ in }
            do { try consumer.loop.add(source, forMode: mode) } catch { Findings.end("refused: \(error)") }
            consumer.loop.run(mode: mode, for: .zero)
            source.invalidate()
        }
        let isManaged = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { isManaged.signal() }
        isManaged.wait()
    }

    /// On the main thread.
    func run() {
        if let host {
            g_main_loop_run(host)
            g_main_loop_unref(host)
            return
        }
        var round = 0
        while true {
            let way = wanted.value
            if way != .quiet { actual.value = way }
            switch way {
            case .short: runOnce(consumer.loop, round)
            case .long: consumer.loop.run()
            case .quiet:
                consumer.loop.detach()
                actual.value = way
                _ = wanted.wait(timeout: Settings.patience * 4) { $0 != .quiet }
                consumer.loop.attach()
            case .over: return
            }
            round += 1
        }
    }

    /// On another thread: has the main thread go on in that way, and waits for it.
    func go(_ way: Way) {
        wanted.value = way
        if let host {
            // Not invoked: before the host runs that would be done here.
            Callbacks.idle(in: nil) { [self, host = Host(host)] in
                // One that was detached is attached again by whatever comes next.
                if way == .quiet { consumer.loop.detach() } else { consumer.loop.attach() }
                if way == .over { g_main_loop_quit(host.pointer) }
                actual.value = way
                return false
            }
            return waitFor("the host's callback", on: nil) { actual.value == way }
        }
        while actual.value != way {
            // Of the outermost run.
            consumer.loop.async { [consumer] in if consumer.nesting == 0 { consumer.loop.stop() } }
            _ = actual.wait(timeout: .milliseconds(5)) { $0 == way }
        }
    }

    private struct Host: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
    }
}
