// SPDX-License-Identifier: Apache-2.0
// The panel in a GTK 3 window, under gtk_main().

import ArgumentParser
import CGtk3
import Panel

@main
struct Gtk3Window: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gtk3-window", abstract: "A GTK 3 window that is fed by tasks, queues and run-loop timers.")

    @OptionGroup var options: CheckOptions

    func run() throws {
        let status = MainActor.assumeIsolated { [options] () -> Int32 in
            guard gtk_init_check(nil, nil) != 0 else {
                complain("gtk3-window: there is no display")
                return 2
            }
            let check = makePanel().start(options)
            gtk_main()
            return check?.status ?? 0
        }
        if status != 0 { throw ExitCode(status) }
    }
}
