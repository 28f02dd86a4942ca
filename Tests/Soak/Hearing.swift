// SPDX-License-Identifier: Apache-2.0
// Signals and children: each signal that was sent is counted once, each child told of once, with its own code.

import GRunLoop
import Glibc
import TestSupport

extension Producer {
    /// A producer has a signal for itself, of those that are queued.
    func hearSignals() {
        holding { consumer in
            let signal = queuedSignal(1 + Int32(number % 24))
            let ticket = Ticket(.signal, producer: number, consumer: consumer)
            let token = ticket.token
            let (heard, since) = (Shared(0), Counted())
            do throws(GRunLoop.SignalError) {
                let source = try GRunLoop.SignalSource(signal) { _, count in
                    withExtendedLifetime(token) { _ = ticket.enter(owedSince: Int64(since.value)) }
                    heard.update { $0 += count }
                }
                // It counts before it is in a loop as well.
                let (early, more) = (dice.number(0...2), dice.number(1...20))
                since.store(Int(nanoseconds()))
                raiseHere(signal, times: early)
                do { try consumer.loop.add(source, forMode: mode) } catch { Findings.add("refused: \(error)") }
                raiseHere(signal, times: more)
                waitFor("\(ticket.name): \(heard.value) of \(early + more) heard", on: consumer) {
                    heard.value == early + more
                }
                source.invalidate()
                ticket.seal()
                if heard.value != early + more { Findings.add("heard too often: \(ticket.name)") }
            } catch {
                Findings.add("refused: \(error)")
            }
            if disposition(of: signal) != "default" { Findings.add("signal \(signal) was not given back") }
        }
    }

    func waitForChildren() {
        holding { consumer in
            for _ in 0..<dice.number(1...3) {
                let code = Int32(dice.number(0...255))
                let ticket = Ticket(.child, producer: number, consumer: consumer)
                let token = ticket.token
                let start = nanoseconds()
                let child = startShell("exit \(code)")
                do {
                    let source = try GRunLoop.ChildSource(pid: child) { _, outcome in
                        // Owed since it has ended, which nobody knows.
                        withExtendedLifetime(token) { _ = ticket.enter(owedSince: max(start, nanoseconds())) }
                        if (try? outcome.get()) != .exited(code: code) {
                            Findings.add("\(outcome) instead of \(code): \(ticket.name)")
                        }
                    }
                    try consumer.loop.add(source, forMode: mode)
                    ticket.expectOneCall()
                    waitFor("the end of \(ticket.name)", on: consumer) { !source.isValid }
                } catch {
                    Findings.add("refused: \(error)")
                }
                if exists(child) { Findings.add("a child was not reaped: \(ticket.name)") }
            }
        }
    }
}
