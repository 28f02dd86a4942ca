// SPDX-License-Identifier: Apache-2.0
// Storms of streams, sockets and the resolver.

import CGRunGIO
import GRunLoopGIO
import Glibc
import TestSupport

extension KindMaker {
    static let streams = [
        KindMaker(name: "silent pipe") { setting in
            let pipe = Pipe()
            return Kind(name: "silent pipe", count: setting.count, isEndless: true) { _, _ in
                let pointer: UnsafeMutablePointer<GInputStream> = g_unix_input_stream_new(dup(pipe.readEnd), 1)
                Census.add(pointer)
                let stream = GIO.InputStream(full: pointer)
                _ = try await stream.read()
            }
        },
        KindMaker(name: "accept") { setting in
            nonisolated(unsafe) let listener = try makeListener()
            return Kind(
                name: "accept", count: setting.count, isEndless: true,
                run: { _, _ in
                    let client = try await GIO.call {
                        g_socket_listener_accept_async(listener.pointer, $0, $1, $2)
                    } finish: { _, result, error in
                        GRef(full: g_socket_listener_accept_finish(listener.pointer, result, nil, error))
                    }
                    if client != nil { throw Finding("a client came") }
                },
                leftovers: {
                    let count = references(listener.pointer)
                    return count == 1 ? nil : "the listener has \(count) references"
                })
        },
        KindMaker(name: "resolver") { setting in
            nonisolated(unsafe) let resolver = GRef(full: g_resolver_get_default().unsafelyUnwrapped)
            nonisolated(unsafe) let address = GRef(
                full: g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4).unsafelyUnwrapped)
            let before = references(resolver.pointer)
            return Kind(
                name: "resolver", count: setting.count,
                run: { _, number in
                    try await number.isMultiple(of: 2) ? lookUp("localhost", resolver) : lookUp(address, resolver)
                },
                leftovers: {
                    let count = references(resolver.pointer)
                    return count == before ? nil : "the resolver has \(count) references, not \(before)"
                })
        },
    ]
}

/// A listener on a free port of the loopback device.
private func makeListener() throws -> GRef<UnsafeMutablePointer<GSocketListener>> {
    let listener = GRef(full: g_socket_listener_new().unsafelyUnwrapped)
    _ = try GLibError.check { g_socket_listener_add_any_inet_port(listener.pointer, nil, $0) }
    return listener
}

/// Asks for the addresses of a name. GIO knows those of localhost.
private func lookUp(
    _ name: String, _ resolver: GRef<UnsafeMutablePointer<GResolver>>, isolation: isolated (any Actor)? = #isolation
) async throws {
    let count = try await GIO.call {
        g_resolver_lookup_by_name_async(resolver.pointer, name, $0, $1, $2)
    } finish: { _, result, error in
        let list = g_resolver_lookup_by_name_finish(resolver.pointer, result, error)
        defer { g_resolver_free_addresses(list) }
        return g_list_length(list)
    }
    if count == 0 { throw Finding("\(name) has no address") }
}

/// Asks for the name of an address, on the resolver's threads.
private func lookUp(
    _ address: GRef<UnsafeMutablePointer<GInetAddress>>, _ resolver: GRef<UnsafeMutablePointer<GResolver>>,
    isolation: isolated (any Actor)? = #isolation
) async throws {
    let name = try await GIO.call {
        g_resolver_lookup_by_address_async(resolver.pointer, address.pointer, $0, $1, $2)
    } finish: { _, result, error in
        g_resolver_lookup_by_address_finish(resolver.pointer, result, error)
    }
    if name == nil { throw Finding("the address has no name") }
    g_free(name)
}
