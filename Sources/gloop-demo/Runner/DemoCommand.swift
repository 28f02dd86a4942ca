// SPDX-License-Identifier: Apache-2.0
// The command line. The demo parses the command line itself. If it used a parser package, every client of GRunLoop
// would also have to resolve that package.

enum DemoCommand {
    case tour
    case list
    case run(Selection)
    case help
    case version

    struct Selection {
        var scenarios: [Scenario] = []
        var plot: String?
        var timeline: String?
    }

    struct Misuse: Error {
        let message: String

        init(_ message: String) { self.message = message }
    }

    static let usage = """
        Usage: gloop-demo [list | run <name> ... [--plot <file>] [--timeline <file>]]
          See 'gloop-demo --help' for more information.
        """

    static let helpText = """
        OVERVIEW: A tour of GRunLoop: Core Foundation's run loop on GLib's main context.

        Without arguments every scenario is run. Each scenario records what happens, line by line, compares the lines \
        with the expected lines, and prints the first lines that differ. The exit status is 1 if any line differs.

        USAGE: gloop-demo [list | run <name> ... [--plot <file>] [--timeline <file>]]

        COMMANDS:
          list                    List the scenarios in the order of the tour.
          run <name> ...          Run single scenarios, in the order given.

        OPTIONS OF run:
          --plot <file>           The SVG file for the histograms of `latency`.
          --timeline <file>       The file for a timeline of the loops: an HTML page, or trace events if the name
                                  ends with .json.

        OPTIONS:
          --version               Show the version.
          -h, --help              Show help information.
        """

    /// - Parameter arguments: the arguments without the program's name.
    init(_ arguments: [String]) throws(Misuse) {
        // A help option is recognized anywhere before `--`, which ends the options.
        if arguments.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            self = .help
            return
        }
        switch arguments.first {
        case nil: self = .tour
        case "help": self = .help
        case "run": self = .run(try Selection(arguments.dropFirst()))
        case "list", "--version":
            if arguments.count > 1 { throw Misuse("Unexpected argument '\(arguments[1])'.") }
            self = arguments[0] == "list" ? .list : .version
        case let word?:
            throw Misuse(word.hasPrefix("-") ? "Unknown option '\(word)'." : "There is no command '\(word)'.")
        }
    }
}

extension DemoCommand.Selection {
    /// - Parameter arguments: the words after `run`, which are names and options in any order.
    fileprivate init(_ arguments: ArraySlice<String>) throws(DemoCommand.Misuse) {
        var rest = arguments
        var areOptionsOver = false
        while let word = rest.popFirst() {
            if areOptionsOver || !word.hasPrefix("-") {
                guard let scenario = Catalogue.scenario(named: word) else {
                    throw DemoCommand.Misuse(
                        "There is no scenario '\(word)'. 'gloop-demo list' shows all \(Catalogue.all.count).")
                }
                scenarios.append(scenario)
            } else if word == "--" {
                areOptionsOver = true
            } else {
                try setOption(word, from: &rest)
            }
        }
        if scenarios.isEmpty { throw DemoCommand.Misuse("Missing the name of a scenario to run.") }
    }

    /// Parses `--option value` or `--option=value`. In the first form, this function removes the value from `rest`.
    private mutating func setOption(_ word: String, from rest: inout ArraySlice<String>) throws(DemoCommand.Misuse) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let option: WritableKeyPath<Self, String?>
        switch parts[0] {
        case "--plot": option = \.plot
        case "--timeline": option = \.timeline
        default: throw DemoCommand.Misuse("Unknown option '\(parts[0])'.")
        }
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
            throw DemoCommand.Misuse("Missing value for '\(parts[0]) <file>'.")
        }
        self[keyPath: option] = value
    }
}
