// SPDX-License-Identifier: Apache-2.0
// The entry point: runs the tour, lists the scenarios, or runs single scenarios by name.

import GRunLoop
import GRunLoopDiagnostics
import Glibc

/// The program's async entry point. The scenarios run on the main thread, because they run before `main` first
/// suspends.
@main
enum GloopDemo {
    @MainActor static func main() async {
        _ = MainThread.handle
        GRunLoop.driveAsyncMain()
        if CommandLine.arguments.dropFirst().first == AsyncMain.command { return await AsyncMain.runChild() }
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == MessagePorts.command {
            do { return try MessagePorts.serve(arguments[2], arguments[3]) } catch { fatalError("\(error)") }
        }
        do {
            guard try perform(DemoCommand(Array(arguments.dropFirst()))) else { exit(1) }
        } catch let misuse as DemoCommand.Misuse {
            complain("\(misuse.message)\n\(DemoCommand.usage)")
            exit(64)  // EX_USAGE
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    /// Returns false if a scenario has failed.
    @MainActor private static func perform(_ command: DemoCommand) throws -> Bool {
        switch command {
        case .help: print(DemoCommand.helpText)
        case .version: print("0.1.0")
        case .list: list()
        case .tour: return Tour(Catalogue.all).run()
        case .run(let selection): return try run(selection)
        }
        return true
    }

    private static func complain(_ text: String) {
        let line = "Error: \(text)\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
    }

    private static func list() {
        let width = Catalogue.all.map(\.name.count).max() ?? 0
        for scenario in Catalogue.all { print(scenario.name.padded(to: width), scenario.summary, separator: "  ") }
    }

    @MainActor private static func run(_ selection: DemoCommand.Selection) throws -> Bool {
        let recorder = GRunLoop.Timeline()
        if selection.timeline != nil { recorder.start() }
        let hasPassed = Tour(selection.scenarios, plotPath: selection.plot).run()
        if let timeline = selection.timeline { try recorder.write(to: timeline, as: .init(fileName: timeline)) }
        return hasPassed
    }
}
