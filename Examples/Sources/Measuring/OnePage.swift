// SPDX-License-Identifier: Apache-2.0
// A server for URLSession.

import Foundation

/// A server on this machine that sends one page to one client.
public enum OnePage {
    public static let length = 1000

    public static func serve() -> URL {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/") else {
            fatalError("no port is free on 127.0.0.1")
        }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(String(repeating: "x", count: length))"
        Thread.detachNewThread {
            let peer = accept(listener, nil, nil)
            var request = [UInt8](repeating: 0, count: 4096)
            _ = read(peer, &request, request.count)
            _ = write(peer, answer, answer.utf8.count)
            close(peer)
            close(listener)
        }
        return url
    }
}
