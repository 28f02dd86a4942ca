// SPDX-License-Identifier: Apache-2.0
// Scenario hosted-nested: loops of the host and runs of ours are nested in each other.

import GRunLoop

/// A host's callback runs our loop in a private mode. A callout of our run runs a loop of the host, as `gtk_dialog_run`
/// does. Then the nested loops return, the innermost first. The host's loops serve the ambient mode, and our run serves
/// its private mode. After a nested loop has returned, the outer loop continues.
enum HostedNested {
    static let scenario = Scenario(
        "hosted-nested", "A run of our loop in a host's callback, and the host's loop in our callout.",
        expected: """
            host, callback                | in kCFRunLoopDefaultMode
            > our run, callout            | in hosted-nested.modal
            > > host in a callout, callback | in kCFRunLoopDefaultMode
            > > host in a callout, block  | in kCFRunLoopDefaultMode
            > our run, callout            | in hosted-nested.modal | goes on
            > our run                     | returned stopped
            host, callback                | in kCFRunLoopDefaultMode | goes on
            host, block of the default mode | in kCFRunLoopDefaultMode
            """, body: run)

    private static let modal: GRunLoop.Mode = "hosted-nested.modal"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let mode: @Sendable () -> String = { "in \(loop.currentMode?.rawValue ?? "none")" }
        Host.run { quit in
            GLibSource.addTimeout(milliseconds: 1) {
                log.line("host, callback", mode())
                log.indented { runModally(loop, mode, log) }
                log.line("host, callback", mode(), "goes on")
                loop.perform {
                    log.line("host, block of the default mode", mode())
                    quit()
                }
                return false
            }
        }
    }

    private static func runModally(_ loop: GRunLoop, _ mode: @escaping @Sendable () -> String, _ log: Recorder) {
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
            log.line("our run, callout", mode())
            log.indented { runHostInside(loop, mode, log) }
            log.line("our run, callout", mode(), "goes on")
            loop.stop()
        }
        loop.add(timer, forMode: modal)
        let result = loop.run(mode: modal, for: .patience)
        log.line("our run", "returned \(result)")
    }

    private static func runHostInside(_ loop: GRunLoop, _ mode: @escaping @Sendable () -> String, _ log: Recorder) {
        Host.run { quit in
            GLibSource.addTimeout(milliseconds: 1) {
                log.line("host in a callout, callback", mode())
                loop.perform {
                    log.line("host in a callout, block", mode())
                    quit()
                }
                return false
            }
        }
    }
}
