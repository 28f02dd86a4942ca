// SPDX-License-Identifier: Apache-2.0
// The little of the desktop's portal that this program needs.

import GRunLoop
import GRunLoopGIO

@MainActor final class Portal {
    private static let name = "org.freedesktop.portal.Desktop"
    private static let desktop: DBus.ObjectPath = "/org/freedesktop/portal/desktop"
    private static let requestInterface = "org.freedesktop.portal.Request"

    private let bus: DBus.Connection
    private var requestCount = 0

    init(_ bus: DBus.Connection) { self.bus = bus }

    /// Returns the URIs of the chosen files; empty if the user closes the dialog. Cancelling the task also closes it.
    func chooseFile(title: String) async throws -> [String] {
        let (token, path) = makeRequest()
        // Subscribes before the call, because the response may come before the reply.
        let responses = try bus.signals(interface: Self.requestInterface, member: "Response", path: path)
        _ = try await bus.call(
            Self.name, Self.desktop, "org.freedesktop.portal.FileChooser", "OpenFile", "", title,
            ["handle_token": try Variant(token)], returning: DBus.ObjectPath.self)
        do {
            for try await response in responses {
                let (code, results) = try response.arguments(as: UInt32.self, [String: Variant].self)
                return code == 0 ? try results.value("uris", as: [String].self) ?? [] : []
            }
            return []
        } catch is CancellationError {
            try bus.send(Self.name, path, Self.requestInterface, "Close")
            throw CancellationError()
        }
    }

    /// The portal makes the path of a request from the caller's name and a token.
    private func makeRequest() -> (token: String, path: DBus.ObjectPath) {
        requestCount += 1
        let token = "choose\(requestCount)"
        let caller = (bus.uniqueName ?? "").dropFirst().map { $0 == "." ? "_" : String($0) }.joined()
        return (token, DBus.ObjectPath("\(Self.desktop)/request/\(caller)/\(token)"))
    }
}
