// SPDX-License-Identifier: Apache-2.0
// The checks in a GTK 3 window.

import ArgumentParser
import CGtk3
import Glibc
import HostChecks

@main
struct Gtk3Checks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gtk3-checks", abstract: "Checks what must hold while GTK 3 drives the run loop.")

    @Flag(help: "Frame rates are gates, not only figures.")
    var gateFrames = false

    func run() throws {
        guard let window = Window() else {
            print("gtk3-checks: there is no display")
            throw ExitCode(2)
        }
        let failures = HostChecks(window.toolkit, gatesFrames: gateFrames).run()
        if failures > 0 { throw ExitCode(1) }
    }
}
