// SPDX-License-Identifier: Apache-2.0
// A child process, and what it prints.

import Foundation

struct Child {
    /// The folder of this program.
    static let folder = (CommandLine.arguments[0] as NSString).deletingLastPathComponent

    let output: String
    /// How the child has ended, if not as it should.
    let failure: String?

    init(_ program: String, _ arguments: [String], seconds: Double) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Child.folder + "/" + program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { fatalError("\(program): \(error)") }
        let timer = DispatchSource.makeTimerSource(queue: .global())
        // Does nothing once the process was reaped, because another process may have its number then.
        timer.setEventHandler { process.terminate() }
        timer.schedule(deadline: .now() + seconds)
        timer.activate()
        self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        timer.cancel()
        failure =
            switch (process.terminationReason, process.terminationStatus) {
            case (.exit, 0): nil
            case (.exit, let status): "exits with \(status)"
            case (_, SIGTERM): "hangs"
            case (_, let signal): "crashes (signal \(signal))"
            }
    }
}
