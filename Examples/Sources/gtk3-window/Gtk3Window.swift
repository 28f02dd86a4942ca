// SPDX-License-Identifier: Apache-2.0
// The panel in a GTK 3 window, under gtk_main().

import ArgumentParser
import CGtk3
import Panel

@main
struct Gtk3Window: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gtk3-window", abstract: "A GTK 3 window that is fed by tasks, queues and run-loop timers.")

    @Flag(help: "Press the button, check what the window shows, and end.")
    var check = false

    @Flag(help: "With --check: a gap between frames of 50 ms and more is a failure.")
    var gateFrames = false

    @Option(help: "With --check: write what the window shows to a PNG file.")
    var screenshot: String?

    func run() throws {
        let status = MainActor.assumeIsolated { () -> Int32 in
            guard gtk_init_check(nil, nil) != 0 else {
                complain("gtk3-window: there is no display")
                return 2
            }
            let window = Window()
            let panel = Panel(window.widgets)
            window.panel = panel
            panel.start()
            let checker = check ? Check(panel, CheckOptions(gatesFrames: gateFrames, screenshot: screenshot)) : nil
            checker?.start()
            gtk_main()
            return checker?.status ?? 0
        }
        if status != 0 { throw ExitCode(status) }
    }
}
