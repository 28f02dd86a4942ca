// SPDX-License-Identifier: Apache-2.0
// Descriptors: each byte that is written to a pipe is read in a callout, in order.

import GRunLoop
import Glibc
import TestSupport

final class Descriptors: Account, @unchecked Sendable {
    private final class Entry {
        let pipe = Pipe()
        let ticket = Ticket("a descriptor source", isRepeating: true)
        let modes: [GRunLoop.Mode]
        var source: GRunLoop.DescriptorSource?
        var written = 0
        var read = 0

        init(_ modes: [GRunLoop.Mode]) { self.modes = modes }

        var isValid: Bool { !ticket.isCancelled }
        var isOpen: Bool { isValid && written != read }
    }

    private var entries: [Entry] = []

    override func begin() {
        // At times there are more descriptors than one batch of the kernel's events.
        for _ in 0..<(program.random.chance(10) ? 70 : program.random.number(2...4)) { make() }
    }

    private func make() {
        let number = entries.count
        let entry = Entry(program.someModes())
        entries.append(entry)
        entry.source = GRunLoop.DescriptorSource(descriptor: entry.pipe.readEnd) {
            [unowned self, ticket = entry.ticket] _, _ in
            ticket.call()
            // A handler that reads nothing is called again.
            if program.random.chance(80) { readByte(entries[number]) }
            program.callout("descriptor \(number)")
        }
        add(entry)
    }

    private func add(_ entry: Entry) {
        guard let source = entry.source else { return }
        do {
            for mode in entry.modes { try loop.add(source, forMode: mode) }
        } catch {
            Findings.add("a descriptor was refused: \(error)")
        }
    }

    private func readByte(_ entry: Entry) {
        var byte: UInt8 = 0
        // A nested run may have read the byte.
        guard Glibc.read(entry.pipe.readEnd, &byte, 1) == 1 else { return }
        if Int(byte) != entry.read & 255 { Findings.add("byte \(byte) was read, and \(entry.read & 255) was next") }
        entry.read += 1
    }

    override func act() {
        let entry = program.random.pick(entries)
        guard entry.isValid else { return }
        for _ in 0..<program.random.number(1...3) {
            var byte = UInt8(entry.written & 255)
            if Glibc.write(entry.pipe.writeEnd, &byte, 1) == 1 { entry.written += 1 }
        }
    }

    override func change() {
        let entry = program.random.pick(entries)
        guard entry.isValid, let source = entry.source else { return }
        if program.random.chance(60) {
            for mode in entry.modes { loop.remove(source, forMode: mode) }
            add(entry)
        } else {
            source.invalidate()
            entry.ticket.cancel()
            make()
        }
    }

    override var open: String? {
        let open = entries.filter(\.isOpen)
        return open.isEmpty ? nil : "bytes in \(open.count) pipes, the first in \(open[0].modes.key)"
    }

    override func quiet() {
        for entry in entries where entry.isValid {
            entry.source?.invalidate()
            entry.ticket.cancel()
        }
    }

    override func close() { entries = [] }
}
