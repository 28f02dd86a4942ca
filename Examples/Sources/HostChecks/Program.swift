// SPDX-License-Identifier: Apache-2.0
// The program around a toolkit's checks.

import ArgumentParser

/// `gtk3-checks` and `gtk4-checks`.
public protocol ChecksProgram: ParsableCommand {
    var options: ChecksOptions { get }
    /// Returns a window of the toolkit; nil without a display.
    func makeToolkit() -> Toolkit?
}

public struct ChecksOptions: ParsableArguments {
    @Flag(help: "Frame rates are gates, not only figures.")
    var gateFrames = false

    public init() {}
}

extension ChecksProgram {
    public func run() throws {
        guard let toolkit = makeToolkit() else {
            print("\(Self._commandName): there is no display")
            throw ExitCode(2)
        }
        let failures = HostChecks(toolkit, gatesFrames: options.gateFrames).run()
        if failures > 0 { throw ExitCode(1) }
    }
}
