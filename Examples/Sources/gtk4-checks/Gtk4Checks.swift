// SPDX-License-Identifier: Apache-2.0
// The checks in a GTK 4 window.

import ArgumentParser
import CGtk4
import Glibc
import HostChecks

@main
struct Gtk4Checks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gtk4-checks", abstract: "Checks what must hold while GTK 4 drives the run loop.")

    @Flag(help: "Frame rates are gates, not only figures.")
    var gateFrames = false

    func run() throws {
        guard let window = Window() else {
            print("gtk4-checks: there is no display")
            throw ExitCode(2)
        }
        let failures = HostChecks(window.toolkit, gatesFrames: gateFrames).run()
        if failures > 0 { throw ExitCode(1) }
    }
}
