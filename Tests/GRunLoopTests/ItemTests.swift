// SPDX-License-Identifier: Apache-2.0
// Items that consist of other items. Programs can make them, and message ports are such items.

import GRunLoop
import GRunLoopDiagnostics
import GRunLoopMessagePorts
import TestSupport
import Testing

/// A timer and an observer that are added and removed together, unless a mode is refused.
private final class Heartbeat: GRunLoop.Item, @unchecked Sendable {
    struct Refused: Error, Equatable { let mode: GRunLoop.Mode }

    let trace = Recorder()
    private let timer: GRunLoop.Timer
    private let observer: GRunLoop.Observer

    init() {
        let trace = self.trace
        timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in trace("beat") }
        observer = GRunLoop.Observer(activities: .entry) { _, _ in trace("entry") }
    }

    var isValid: Bool { timer.isValid && observer.isValid }

    func invalidate() {
        timer.invalidate()
        observer.invalidate()
    }

    func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) throws(Refused) -> Bool {
        if operation == .add, mode == "refused" { throw Refused(mode: mode) }
        let isThere = timer.carryOut(operation, of: loop, forMode: mode)
        return observer.carryOut(operation, of: loop, forMode: mode) && isThere
    }
}

@Suite("Items that consist of items") struct ItemTests {
    @Test("a composite item is added, found, called, removed and invalidated like its parts")
    func madeOfItems() async throws {
        try await onFreshThread { loop in
            let heartbeat = Heartbeat()
            #expect(!loop.contains(heartbeat, forMode: "mode"))
            try loop.add(heartbeat, forMode: "mode")
            #expect(loop.contains(heartbeat, forMode: "mode") && !loop.contains(heartbeat, forMode: .default))
            loop.remove(heartbeat, forMode: "mode")
            #expect(!loop.contains(heartbeat, forMode: "mode"))
            #expect(loop.run(mode: "mode", for: .zero) == .finished && heartbeat.trace.lines.isEmpty)
            try loop.add(heartbeat, forMode: "mode")
            loop.run(mode: "mode", for: .seconds(30))
            #expect(heartbeat.trace.take() == ["entry", "beat"])
            #expect(!heartbeat.isValid)
            heartbeat.invalidate()
            #expect(!loop.contains(heartbeat, forMode: "mode"))
        }
    }

    @Test("a composite item throws its own error, and can have a label")
    func ownError() async throws {
        try await onFreshThread { loop in
            let heartbeat = Heartbeat()
            #expect(throws: Heartbeat.Refused(mode: "refused")) { try loop.add(heartbeat, forMode: "refused") }
            #expect(!loop.contains(heartbeat, forMode: "refused"))
            heartbeat.label = "a heartbeat"
            #expect(heartbeat.label == "a heartbeat")
        }
    }

    @Test("every kind of item can be added through the protocol type")
    func ofAnyKind() async throws {
        try await onFreshThread { loop in
            let items: [any GRunLoop.Item] = [
                GRunLoop.Timer(interval: .seconds(60), repeats: true) { _ in }, GRunLoop.Source {},
                GRunLoop.Observer(activities: .all) { _, _ in }, GRunLoop.IdleQueue(), GRunLoop.Port { _ in },
                GRunLoop.DescriptorSource(descriptor: Pipe().readEnd) { _, _ in },
            ]
            for item in items {
                try loop.add(item, forMode: "mode")
                #expect(loop.contains(item, forMode: "mode") && item.isValid)
                loop.remove(item, forMode: "mode")
                #expect(!loop.contains(item, forMode: "mode") && item.isValid)
                item.invalidate()
                #expect(!item.isValid)
            }
        }
    }

    @Test("invalidating the source that represents a message port in a trace ends the port")
    func tracedPort() async throws {
        try await onFreshThread { loop in
            let port = try GRunLoop.MessagePort(RuntimeDirectory.newName("traced")) { _ in }
            port.label = "traced"
            try loop.add(port, forMode: .default)
            let trace = GRunLoop.Trace()
            loop.startTracing(trace)
            try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "").send(1)
            loop.run(for: .seconds(30), returningAfterSourceHandled: true)
            loop.stopTracing()
            let source = trace.events.compactMap { event -> GRunLoop.DescriptorSource? in
                if case .callout(.descriptor(let source), _) = event.kind { source } else { nil }
            }.first
            #expect(source?.label == "traced" && source?.description.contains("GRunLoop.MessagePort") == true)
            source?.invalidate()
            #expect(!port.isValid && port.name == nil && !loop.contains(port, forMode: .default))
        }
    }

    @Test("a message port that was removed and added again works as before, and keeps its label")
    func addedAgain() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let port = try GRunLoop.MessagePort(RuntimeDirectory.newName("again")) { trace("\($0.id)") }
            port.label = "first"
            let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
            for id: Int32 in 1...3 {
                try loop.add(port, forMode: .default)
                #expect(loop.description.contains("label = \"\(port.label ?? "")\", "))
                try remote.send(id)
                while trace.lines.count < id { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
                loop.remove(port, forMode: .default)
                port.label = "after \(id)"
            }
            #expect(trace.lines == ["1", "2", "3"])
            port.invalidate()
        }
    }
}
