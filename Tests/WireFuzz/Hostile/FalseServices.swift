// SPDX-License-Identifier: Apache-2.0
// 50 services that do not reply, and the client that asks them.

import CGRun
import CGRunMessagePorts
import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

private func falseName(_ number: Int) -> String { "org.example.false.\(number)" }

/// The socket of a port's name, for each process of this program.
func socketPath(of name: String) -> String {
    var file = [CChar](repeating: 0, count: Int(CGRUN_PORT_FILE))
    cgrun_port_file(name, &file)
    let text = String(decoding: file.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return (getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "") + "/grun-ports/" + text
}

/// Listens by the names, and sends each client packets that the client does not expect, until this process is killed.
func serveFalsely(_ service: FalseService) {
    let listeners = (0..<crowd).map { wire_listen(socketPath(of: falseName($0))) }
    var clients: [Int32] = []
    let packet = service.packet
    say("ready")
    while true {
        var records =
            listeners.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            + clients.map { pollfd(fd: $0, events: Int16(POLLIN | (packet == nil ? 0 : POLLOUT)), revents: 0) }
        poll(&records, nfds_t(records.count), 100)
        for record in records[..<crowd] where record.revents != 0 {
            let client = wire_accept(record.fd)
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            clients.append(client)
        }
        for record in records[crowd...] where record.revents != 0 {
            // The requests are read, so that there are always more.
            if record.revents & Int16(POLLIN) != 0 { _ = drain(record.fd, atMost: 64) }
            var error: Int32 = record.revents & Int16(POLLHUP | POLLERR) != 0 ? EPIPE : 0
            var count = 0
            while error == 0, count < 64, let packet {
                error = packet.send(by: record.fd)
                count += 1
            }
            guard error != 0, error != EAGAIN else { continue }
            close(record.fd)
            clients.removeAll { $0 == record.fd }
        }
    }
}

extension FalseService {
    fileprivate var packet: Packet? {
        let late = Packet(Int(WIRE_REPLY), conversation: 0xFFFF_FFF0)
        return switch self {
        case .mute: nil
        case .late: late
        case .lateMemory: late.inMemory(Size.gibibyte, written: Size.gibibyte)
        case .lateHole: late.inMemory(Size.gibibyte, written: Size.gibibyte - 4096)
        case .lateDescriptors: late.with(16)
        }
    }
}

/// Makes endless requests to all of them, on a loop that also makes requests to a good service. Prints in microseconds,
/// a line each: how long the good service took, and how late the other limits and the loop's own runs were.
func askFalseServices(_ name: String, for seconds: Double) throws {
    let (isOver, overdue) = (Flag(), Shared<[Duration]>([]))
    let good = try GRunLoop.RemoteMessagePort.lookUp(name)
    _ = GRunLoop.main
    for number in 0..<crowd {
        Task {
            while !isOver.isSet {
                guard let remote = try? GRunLoop.RemoteMessagePort.lookUp(falseName(number)) else { return }
                let (start, limit) = (GRunLoop.now, Duration.milliseconds(200))
                do throws(GRunLoop.MessageRequestError) {
                    _ = try await remote.request(1, sendTimeout: limit, receiveTimeout: limit)
                } catch  where error == .receiveTimeout || error == .sendTimeout {
                    let late = GRunLoop.now - start - limit
                    overdue.update { $0.append(late) }
                } catch { continue }
            }
        }
    }
    say("ready")
    let took = measure(good, for: seconds) { late in overdue.update { $0.append(late) } }
    isOver.set()
    for line in [took, overdue.value] {
        say(line.map { String($0.microseconds) }.joined(separator: " "))
    }
    exit(0)
}
