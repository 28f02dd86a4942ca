// SPDX-License-Identifier: Apache-2.0
// The main thread, and the way in which it drives the main loop at the moment.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport

final class MainLoop: @unchecked Sendable {
    enum Way {
        /// Runs of every form.
        case short
        /// One run that sleeps until it is woken. Only events of the soak end its sleep.
        case long
        /// No run: the loop is detached from its host, and holds no optional descriptors.
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

    /// Makes objects that are created at the first use and then kept: the contexts and epolls of modes, libdispatch's
    /// manager. A slow machine may not create all of them during the warm-up, and they would look like leaks.
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

    /// Runs on the main thread until the soak is over.
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

    /// Called on another thread. Makes the main thread use this way of driving, and waits for it.
    func go(_ way: Way) {
        wanted.value = way
        if let host {
            // Attaches a source, because an invocation would run here if the host does not run yet.
            Callbacks.idle(in: nil) { [self, host = Host(host)] in
                // The next call of go() attaches a detached loop again.
                if way == .quiet { consumer.loop.detach() } else { consumer.loop.attach() }
                if way == .over { g_main_loop_quit(host.pointer) }
                actual.value = way
                return false
            }
            return waitFor("the host's callback", on: nil) { actual.value == way }
        }
        while actual.value != way {
            // Stops the outermost run only.
            consumer.loop.async { [consumer] in if consumer.nesting == 0 { consumer.loop.stop() } }
            _ = actual.wait(timeout: .milliseconds(5)) { $0 == way }
        }
    }

    private struct Host: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
    }
}
