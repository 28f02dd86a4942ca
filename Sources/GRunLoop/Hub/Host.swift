// SPDX-License-Identifier: Apache-2.0
// When a host iterates the home context: the hub asks for work, and runs passes.

extension GRunLoop {
    func hasWorkForHost() -> Bool { false }
    func serveHost() {}
}
