// SPDX-License-Identifier: Apache-2.0
// Shows the file dialog of the desktop, and prints the chosen file. The program talks to the desktop's portal, as a
// program in a sandbox does, and needs no toolkit. Ctrl-C closes the dialog.

import GRunLoop
import GRunLoopGIO
import Glibc

@main struct PortalChoose {
    @MainActor static func main() async {
        GRunLoop.driveAsyncMain()
        do {
            let bus = try await DBus.Connection.session()
            let portal = Portal(bus)
            let choosing = Task { try await portal.chooseFile(title: "Choose a file") }
            let interrupt = try GRunLoop.SignalSource(SIGINT) { _, _ in choosing.cancel() }
            try GRunLoop.main.add(interrupt, forMode: .common)
            let uris: [String]
            do {
                uris = try await choosing.value
            } catch is CancellationError {
                try await bus.close()
                exit(130)
            }
            for uri in uris { print(try GIO.File(uri: uri).path ?? uri) }
            exit(uris.isEmpty ? 1 : 0)
        } catch {
            let text = "portal-choose: \(error)\n"
            write(STDERR_FILENO, text, text.utf8.count)
            exit(2)
        }
    }
}
