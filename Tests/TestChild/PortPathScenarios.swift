// SPDX-License-Identifier: Apache-2.0
// The directory of the names of message ports: its path is bytes, and need not be UTF-8.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

let portPathScenarios: [String: @Sendable () throws -> Void] = ["ports-under-any-path": portsUnderAnyPath]

private func portsUnderAnyPath() throws {
    let path: [UInt8] = Array(RuntimeDirectory.path.utf8) + [0x2F, 0xFF, 0xE4]
    let directory = (path + [0]).map { CChar(bitPattern: $0) }
    guard mkdir(directory, 0o700) == 0, setenv("XDG_RUNTIME_DIR", directory, 1) == 0 else { return say("no directory") }
    let port = try GRunLoop.MessagePort("org.example.bytes") { _ in }
    _ = try GRunLoop.RemoteMessagePort.lookUp("org.example.bytes")
    say("found")
    let names = (path + Array("/grun-ports".utf8) + [0]).map { CChar(bitPattern: $0) }
    say("in that directory: \(access(names, F_OK) == 0)")
    port.invalidate()
    exit(0)
}
