// SPDX-License-Identifier: Apache-2.0
// The command line: the tour, the list of scenarios, and single ones by name.

import ArgumentParser
import GRunLoop

/// The entry point is async, and keeps its main thread: the scenarios run before it ever suspends, as in any program.
@main
enum Program {
    @MainActor static func main() async {
        _ = MainThread.handle
        GRunLoop.driveAsyncMain()
        if CommandLine.arguments.dropFirst().first == AsyncMain.command { return await AsyncMain.runChild() }
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == MessagePorts.command {
            do { return try MessagePorts.serve(arguments[2], arguments[3]) } catch { fatalError("\(error)") }
        }
        GloopDemo.main()
    }
}

struct GloopDemo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gloop-demo",
        abstract: "A tour of GRunLoop: Core Foundation's run loop on GLib's main context.",
        discussion: """
            Without arguments every scenario is run. Each one writes down what happens, line by line, compares that \
            with the lines that it expects, and says which line differs. The exit status is 1 if any does.
            """,
        version: "0.1.0",
        subcommands: [List.self, Run.self])

    func run() throws {
        try Tour(Catalogue.all).run()
    }
}

extension GloopDemo {
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the scenarios in the order of the tour.")

        func run() {
            let width = Catalogue.all.map(\.name.count).max() ?? 0
            for scenario in Catalogue.all { print(scenario.name.padded(to: width), scenario.summary, separator: "  ") }
        }
    }

    struct Run: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Run single scenarios, in the order given.")

        @Argument(
            help: ArgumentHelp("The scenarios to run, as `gloop-demo list` names them.", valueName: "name"),
            completion: .list(Catalogue.all.map(\.name)))
        var names: [String]

        @Option(help: ArgumentHelp("Where `latency` draws its histograms, as SVG.", valueName: "file"))
        var plot: String?

        @Option(
            help: ArgumentHelp(
                "Where a picture of what the loops did is written: a page, or trace events as FILE.json.",
                valueName: "file"))
        var timeline: String?

        func validate() throws {
            for name in names where Catalogue.scenario(named: name) == nil {
                throw ValidationError(
                    "There is no scenario '\(name)'. 'gloop-demo list' shows all \(Catalogue.all.count).")
            }
        }

        func run() throws {
            let recorder = GRunLoop.Timeline()
            if timeline != nil { recorder.start() }
            let result = Result { try Tour(names.compactMap(Catalogue.scenario(named:)), plotPath: plot).run() }
            if let timeline { try recorder.write(to: timeline, as: .init(fileName: timeline)) }
            try result.get()
        }
    }
}
