// SPDX-License-Identifier: Apache-2.0
// A port that C and Swift share: the C pointer is the Swift object.

import CGRunGLib
import CGRunHeaders
import GRunLoopC
import TestSupport
import Testing

@testable import GRunLoop

/// Records the arguments of a C callback.
private final class Inbox {
    var message: OpaquePointer?

    static let function: GRunPortFunc = { message, data in
        guard let data else { return }
        Unmanaged<Inbox>.fromOpaque(data).takeUnretainedValue().message = grun_port_message_ref(message)
    }
}

/// Makes a port in C, and returns it as the C pointer and as the Swift object.
private func makePort(_ inbox: Inbox) -> (OpaquePointer, GRunLoop.Port)? {
    grun_port_new(1, Inbox.function, Unmanaged.passUnretained(inbox).toOpaque(), nil).map {
        ($0, Unmanaged<GRunLoop.Port>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue())
    }
}

private func content(_ bytes: OpaquePointer?) -> [UInt8] {
    var count: gsize = 0
    let first = g_bytes_get_data(bytes, &count)
    return [UInt8](UnsafeRawBufferPointer(start: first, count: Int(count)))
}

private func pass(_ loop: GRunLoop) -> GRunLoop.RunResult {
    loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true)
}

@Suite("Ports of the C interface") struct CPortTests {
    @Test("item 241: C receives a message from Swift with its id, parts and reply port; the bytes are copied each time")
    func fromSwift() async throws {
        try await onFreshThread { loop in
            let inbox = Inbox()
            let (pointer, port) = try #require(makePort(inbox))
            defer { grun_port_unref(pointer) }
            let reply = GRunLoop.Port()
            loop.add(port, forMode: .default)
            let parts: [GRunLoop.PortMessage.Component] = [.bytes([1, 2, 3]), .bytes([]), .port(reply)]
            #expect(port.trySend(GRunLoop.PortMessage(id: 7, parts, replyPort: reply)))
            #expect(pass(loop) == .handledSource)
            let message = try #require(inbox.message)
            defer { grun_port_message_unref(message) }
            #expect(grun_port_message_get_id(message) == 7 && grun_port_message_get_n_components(message) == 3)
            let (bytes, again) = (grun_port_message_get_bytes(message, 0), grun_port_message_get_bytes(message, 0))
            #expect(bytes != again && content(bytes) == [1, 2, 3] && content(again) == [1, 2, 3])
            let empty = grun_port_message_get_bytes(message, 1)
            #expect(empty != nil && content(empty) == [])
            for bytes in [bytes, again, empty] { g_bytes_unref(bytes) }
            let isReply = OpaquePointer(Unmanaged.passUnretained(reply).toOpaque())
            for found in [grun_port_message_get_port(message, 2), grun_port_message_get_reply_port(message)] {
                #expect(found == isReply)
                grun_port_unref(found)
            }
        }
    }

    @Test("item 241: Swift receives a message from C as an array; sent on to C, it is the original GBytes")
    func fromC() async throws {
        try await onFreshThread { loop in
            let (inbox, received) = (Inbox(), Shared<GRunLoop.PortMessage?>(nil))
            let (next, nextPort) = try #require(makePort(inbox))
            defer { grun_port_unref(next) }
            let port = GRunLoop.Port { message in
                received.value = message
                #expect(nextPort.trySend(message))
            }
            for port in [port, nextPort] { loop.add(port, forMode: .default) }
            let bytes = g_bytes_new([4, 5] as [UInt8], 2)
            let message = grun_port_message_new(8)
            grun_port_message_add_bytes(message, bytes)
            #expect(grun_port_send(OpaquePointer(Unmanaged.passUnretained(port).toOpaque()), message) != 0)
            grun_port_message_unref(message)
            #expect(pass(loop) == .handledSource && pass(loop) == .handledSource)
            #expect(received.value?.components.map(\.bytes) == [[4, 5]] && received.value?.receivePort === port)
            let last = try #require(inbox.message)
            let found = grun_port_message_get_bytes(last, 0)
            #expect(found == bytes)
            let through = grun_port_message_get_receive_port(last)
            #expect(through == next)
            grun_port_unref(through)
            grun_port_message_unref(last)
            for bytes in [found, bytes] { g_bytes_unref(bytes) }
        }
    }

    @Test("item 241: a message that several threads build and send loses nothing; sent messages do not change")
    func shared() {
        let message = GRunLoop.PortMessage.Shared(GRunLoop.PortMessage(id: 9))
        let (port, threads, each) = (GRunLoop.Port(), 4, 500)
        let sent = Shared<[Int]>([])
        let builders = (0..<threads).map { number in
            LoopThread { _ in
                for index in 0..<each {
                    message.append(.bytes([UInt8(number)]))
                    message.replyPort = index % 2 == 0 ? GRunLoop.Port() : nil
                    if index % 50 == 0 { sent.update { $0.append(message.value.components.count) } }
                    #expect(message.component(at: 0) != nil && message.component(at: -1) == nil)
                }
            }
        }
        for builder in builders { builder.join() }
        #expect(message.count == threads * each && message.component(at: message.count) == nil)
        for number in 0..<threads {
            #expect(message.value.components.count { $0.bytes == [UInt8(number)] } == each)
        }
        let before = message.value
        message.append(.port(port))
        #expect(before.components.count == threads * each && before.receivePort == nil)
        #expect(sent.value.allSatisfy { $0 > 0 && $0 <= threads * each })
    }
}
