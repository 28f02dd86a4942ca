// SPDX-License-Identifier: Apache-2.0
// A D-Bus call between two threads: by DBus.Connection, and by g_dbus_connection_call() with a callback of C.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc

func measureMessages(_ rounds: Int) async throws -> Comparison {
    let (server, worker) = (try Worker("server"), try Worker("worker"))
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
        throw GLibError(G_IO_ERROR_FAILED, "no sockets")
    }
    let (one, other) = (ends[0], ends[1])
    async let accepted = server.run { _ in try await DBus.Connection.peer(overSocket: one, isServer: true) }
    let client = try await worker.run { _ in try await DBus.Connection.peer(overSocket: other, isServer: false) }
    let service = try await accepted
    var interface = DBus.Interface("org.grun.Bench")
    interface.method("Add") { (one: Int32, other: Int32) in one &+ other }
    let object = interface
    let exported = try await server.run { _ in try service.export(object, at: "/bench") }
    var comparison = Comparison("a D-Bus call", unit: "us", goal: 1.1)
    for _ in 0..<100 * rounds {
        comparison.c.append(await worker.run { _ in await callsInC(client, 250) })
        comparison.swift.append(try await worker.run { _ in try await callsInSwift(client, 250) })
    }
    exported.unexport()
    try await worker.run { _ in try await client.close() }
    await worker.thread.stopAndWait()
    await server.thread.stopAndWait()
    return comparison
}

private func callsInSwift(
    _ client: DBus.Connection, _ count: Int, isolation: isolated (any Actor)? = #isolation
) async throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<count {
        _ = try await client.call(
            nil, "/bench", "org.grun.Bench", "Add", Int32(1), Int32(2), returning: Int32.self)
    }
    return elapsed(since: start) / Double(count) / 1000
}

private func callsInC(
    _ client: DBus.Connection, _ count: Int, isolation: isolated (any Actor)? = #isolation
) async -> Double {
    let start = ContinuousClock.now
    let chain = Chain(count) { data in
        var arguments: [OpaquePointer?] = [g_variant_new_int32(1), g_variant_new_int32(2)]
        g_dbus_connection_call(
            client.pointer, nil, "/bench", "org.grun.Bench", "Add", g_variant_new_tuple(&arguments, 2), resultType,
            cglib_dbus_call_none, -1, nil,
            { source, result, data in
                let reply = g_dbus_connection_call_finish(OpaquePointer(source), result, nil)
                let sum = g_variant_get_child_value(reply, 0)
                _ = g_variant_get_int32(sum)
                g_variant_unref(sum)
                g_variant_unref(reply)
                Chain.next(data)
            }, data)
    }
    await chain.run()
    return elapsed(since: start) / Double(count) / 1000
}

private nonisolated(unsafe) let resultType: OpaquePointer? = g_variant_type_new("(i)")
