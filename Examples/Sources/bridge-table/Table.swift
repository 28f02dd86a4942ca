// SPDX-License-Identifier: Apache-2.0
// Measures each cell in a child process, and prints the table in Markdown.

import Bridges
import Foundation

struct Table {
    private let rows: [Row]

    init(_ rows: [Row]) { self.rows = rows }

    func printMeasured() {
        print("| | a polling timer | idle callbacks | 20 lines of dispatch | GRunLoop |")
        print("|---|---|---|---|---|")
        for row in rows {
            let cells = Bridge.allCases.map { text($0, row) }
            print("| \(row.title) | \(cells.joined(separator: " | ")) |")
            fflush(nil)
        }
    }

    private func text(_ bridge: Bridge, _ row: Row) -> String {
        let child = Child("bridge-table", ["--cell", bridge.rawValue, row.name], seconds: 20)
        if let failure = child.failure { return failure }
        return child.output.split(separator: "\n").last.map(String.init) ?? "?"
    }
}
