// SPDX-License-Identifier: Apache-2.0
// Signals and children: each source counts each sent signal once, and each child's end is reported once, with its own
// status.

import GRunLoop
import Glibc
import TestSupport

/// A signal source, and the number of signals that it has counted.
private final class Listener: Sendable {
    let ticket: Ticket
    let source: GRunLoop.SignalSource
    private let count: Shared<Int>
    private let date: Counted

    init(_ signal: Int32, producer: Int, _ consumer: Consumer) throws(GRunLoop.SystemError) {
        let ticket = Ticket(.signal, producer: producer, consumer: consumer)
        let (token, heard, since) = (ticket.token, Shared(0), Counted())
        (self.ticket, count, date) = (ticket, heard, since)
        source = try GRunLoop.SignalSource(signal) { _, count in
            withExtendedLifetime(token) { _ = ticket.enter(owedSince: Int64(since.value)) }
            heard.update { $0 += count }
        }
    }

    var heard: Int { count.value }

    func add(_ mode: GRunLoop.Mode) {
        date.store(Int(nanoseconds()))
        do { try ticket.consumer.loop.add(source, forMode: mode) } catch { Findings.add("refused: \(error)") }
    }

    func expect(_ sent: Int) {
        waitFor("\(ticket.name): \(heard) of \(sent) heard", on: ticket.consumer) { heard >= sent }
    }

    func end(_ sent: Int) {
        source.invalidate()
        ticket.seal()
        if heard > sent { Findings.add("heard too often: \(heard) of \(sent), \(ticket.name)") }
    }
}

extension Producer {
    /// Sends a queued signal in one of several ways. Returns how often it was sent.
    private func send(_ signal: Int32) -> Int {
        let count = dice.number(1...20)
        // For a working thread, Thread Sanitizer keeps one signal of each number and drops the others.
        switch Settings.isSanitized ? 9 : dice.number(0...9) {
        case 0: endOf(startShell("i=0; while [ $i -lt \(count) ]; do kill -\(signal) $PPID; i=$((i+1)); done"))
        case 1...4:
            for _ in 0..<count {
                if sigqueue(getpid(), signal, sigval()) != 0 { Findings.add("sigqueue failed with \(errno)") }
            }
        default: raiseHere(signal, times: count)
        }
        return count
    }

    private func endOf(_ child: pid_t) {
        if reap(child) != 0 { Findings.add("the child that sends signals has failed") }
    }

    /// Each producer has its own queued signal. Two loops may have sources of it.
    func hearSignals() {
        let other = dice.chance(30) ? workers.pick(dice.number(0...100)) : nil
        let isOtherHeld = other?.hold() ?? false
        defer { if isOtherHeld { other?.release() } }
        holding { consumer in
            let signal = queuedSignal(1 + Int32(number % 24))
            let former = disposition(of: signal)
            do throws(GRunLoop.SystemError) {
                var listeners = [try Listener(signal, producer: number, consumer)]
                if isOtherHeld, let other { listeners.append(try Listener(signal, producer: number, other)) }
                // A source that is in no loop yet counts signals as well.
                var sent = dice.chance(50) ? send(signal) : 0
                for listener in listeners { listener.add(mode) }
                for _ in 0..<dice.number(1...3) { sent += send(signal) }
                // All signals must arrive before the last source ends, because a later signal would end the process.
                for listener in listeners { listener.expect(sent) }
                for listener in listeners { listener.end(sent) }
            } catch {
                Findings.add("refused: \(error)")
            }
            if disposition(of: signal) != former { Findings.add("signal \(signal) was not given back") }
        }
    }

    /// Several unqueued signals may be counted as one. A callout begins after the last signal, and no more signals are
    /// counted than were sent.
    func hearBursts() {
        let signals = [SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH, SIGURG, SIGIO, SIGCONT, SIGXCPU]
        let signal = signals[number % signals.count]
        let former = disposition(of: signal)
        holding { consumer in
            do throws(GRunLoop.SystemError) {
                let listener = try Listener(signal, producer: number, consumer)
                listener.add(mode)
                var sent = 0
                for _ in 0..<dice.number(1...5) {
                    let (count, before) = (dice.number(1...10), listener.heard)
                    raiseHere(signal, times: count)
                    sent += count
                    waitFor("\(listener.ticket.name): heard of a burst", on: consumer) { listener.heard > before }
                }
                // Each signal of this burst is handled before the next one is sent.
                listener.expect(sent)
                listener.end(sent)
            } catch {
                Findings.add("refused: \(error)")
            }
            if disposition(of: signal) != former { Findings.add("signal \(signal) was not given back") }
        }
    }

    func waitForChildren() {
        holding { consumer in
            for _ in 0..<dice.number(1...3) {
                switch dice.number(0...9) {
                case 0: leaveChild(consumer)
                case 1...3: awaitChild(consumer)
                default: watchChild(consumer)
                }
            }
        }
    }

    /// Starts a child. Returns it, and the status that it will end with.
    private func startChild() -> (child: pid_t, status: GRunLoop.ExitStatus) {
        if dice.chance(20) { return (startShell("kill -9 $$"), .signalled(SIGKILL, dumpedCore: false)) }
        let code = Int32(dice.number(0...255))
        return (startShell("exit \(code)"), .exited(code: code))
    }

    private func watchChild(_ consumer: Consumer) {
        let ticket = Ticket(.child, producer: number, consumer: consumer)
        let token = ticket.token
        let start = nanoseconds()
        let (child, status) = startChild()
        do {
            let source = try GRunLoop.ChildSource(pid: child) { _, outcome in
                // Measures from the start of the child, because the time of its end is unknown.
                withExtendedLifetime(token) { _ = ticket.enter(owedSince: max(start, nanoseconds())) }
                if (try? outcome.get()) != status { Findings.add("\(outcome) instead of \(status): \(ticket.name)") }
            }
            try consumer.loop.add(source, forMode: mode)
            ticket.expectOneCall()
            waitFor("the end of \(ticket.name)", on: consumer) { !source.isValid }
        } catch {
            Findings.add("refused: \(error)")
        }
        if exists(child) { Findings.add("a child was not reaped: \(ticket.name)") }
    }

    private func awaitChild(_ consumer: Consumer) {
        let ticket = Ticket(.child, producer: number, consumer: consumer)
        let (token, start) = (ticket.token, nanoseconds())
        let (child, status) = startChild()
        let loop = consumer.loop
        let told = Counted()
        Task(executorPreference: loop.executor) {
            let outcome = try? await loop.waitForExit(of: child)
            withExtendedLifetime(token) { _ = ticket.enter(owedSince: max(start, nanoseconds())) }
            if outcome != status { Findings.add("\(String(describing: outcome)) instead of \(status): \(ticket.name)") }
            told.add()
        }
        waitFor("the end of \(ticket.name)", on: consumer) { told.value > 0 }
        if exists(child) { Findings.add("a child was not reaped: \(ticket.name)") }
    }

    /// A child whose source was invalidated must be reaped by other code.
    private func leaveChild(_ consumer: Consumer) {
        let ticket = Ticket(.child, producer: number, consumer: consumer)
        let token = ticket.token
        let child = startSleeper()
        do {
            let source = try GRunLoop.ChildSource(pid: child) { _, _ in
                withExtendedLifetime(token) { _ = ticket.enter(owedSince: nanoseconds()) }
                Findings.add("called for a child that lives: \(ticket.name)")
            }
            try consumer.loop.add(source, forMode: mode)
            source.invalidate()
            ticket.seal()
        } catch {
            Findings.add("refused: \(error)")
        }
        kill(child, SIGKILL)
        consumer.barrier()
        if reap(child) < 0 { Findings.add("a child was reaped by a source that had gone: \(ticket.name)") }
    }
}
