// SPDX-License-Identifier: Apache-2.0
// Storms of D-Bus: calls and signals between two peers.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport

extension KindMaker {
    static let messages = [
        KindMaker(name: "D-Bus call") { setting in
            let peers = try await Peers(setting)
            return Kind(
                name: "D-Bus call", count: setting.count,
                run: { _, number in
                    let answer = try await peers.client.call(
                        nil, "/storm", "org.grun.Storm", "Slow", Int32(number), returning: Int32.self)
                    if answer != number { throw Finding("\(answer) is the answer, not \(number)") }
                },
                leftovers: { peers.leftovers }, close: { try await peers.close($0) })
        },
        KindMaker(name: "D-Bus signals") { setting in
            let peers = try await Peers(setting)
            return Kind(
                name: "D-Bus signals", count: setting.count, isEndless: true,
                run: { _, number in
                    let signals = try peers.client.signals(interface: "org.grun.Storm", member: "Tick")
                    var count = 0
                    for try await _ in signals {
                        count += 1
                        if count > number % 3 { return }
                    }
                },
                stir: { try peers.exported.emit("Tick", Int32(1)) }, leftovers: { peers.leftovers },
                close: { try await peers.close($0) })
        },
    ]
}

/// Two connections to each other. One connection has a slow service.
private final class Peers: Sendable {
    let client, server: DBus.Connection
    let exported: DBus.ExportedObject
    private let runningMethods: Shared<Int>

    init(_ setting: KindMaker.Setting) async throws {
        let sockets = SocketPair()
        let (one, other) = (dup(sockets.one), dup(sockets.other))
        // Other storms may keep GIO's thread pool busy for long.
        let timeout = Duration.seconds(600)
        async let accepted = setting.port.run { _ in
            try await DBus.Connection.peer(overSocket: one, isServer: true, timeout: timeout)
        }
        client = try await setting.sea.run { _ in
            try await DBus.Connection.peer(overSocket: other, isServer: false, timeout: timeout)
        }
        let server = try await accepted
        self.server = server
        let running = Shared(0)
        runningMethods = running
        var interface = DBus.Interface("org.grun.Storm")
        interface.method("Slow") { (number: Int32) async throws -> Int32 in
            running.update { $0 += 1 }
            defer { running.update { $0 -= 1 } }
            try await setting.port.wait(milliseconds: 2)
            return number
        }
        interface.signal("Tick", Int32.self)
        let object = interface
        exported = try await setting.port.run { _ in try server.export(object, at: "/storm") }
    }

    /// The connection, and methods of cancelled calls, which do not know about the cancellation.
    var leftovers: String? {
        if runningMethods.value > 0 { return "\(runningMethods.value) methods run" }
        let count = references(of: client)
        return count == 1 ? nil : "the connection has \(count) references"
    }

    func close(_ sea: isolated Sea) async throws {
        exported.unexport()
        try await client.close()
    }
}

extension Sea {
    /// Waits in the loop: `Task.sleep` would fill another cache of libdispatch.
    fileprivate func wait(milliseconds: guint) async throws {
        try await GIO.call { cancellable, done, data in
            let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
            complete(task, after: milliseconds)
            g_object_unref(UnsafeMutableRawPointer(task))
        } finish: { _, result, error in
            _ = g_task_propagate_int(result, error)
        }
    }
}

private func references(of connection: DBus.Connection) -> Int {
    references(UnsafeMutableRawPointer(connection.pointer))
}
