// SPDX-License-Identifier: Apache-2.0
// Measures what four bridges do for what Swift expects of a main loop, and prints the table of the guide "You have a
// main loop already".
//
// usage: bridge-table [ROW...]                    measures these rows; all of them by default
//        bridge-table --rows                      prints the names of the rows
//        bridge-table --cell BRIDGE ROW           measures a cell in this process
//        bridge-table --beside OTHER              this library beside another bridge

import Bridges
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "--cell":
    guard arguments.count == 3, let bridge = Bridge(rawValue: arguments[1]),
        let row = Rows.all.first(where: { $0.name == arguments[2] })
    else { fatalError("no such cell") }
    bridge.install()
    print(row.measure(bridge))
case "--beside":
    guard arguments.count == 2, let other = Beside.Other(rawValue: arguments[1]) else { fatalError("no such bridge") }
    exit(Beside(other).check() ? 0 : 1)
case "--rows": print(Rows.all.map(\.name).joined(separator: " "))
default:
    let rows = arguments.isEmpty ? Rows.all : Rows.all.filter { arguments.contains($0.name) }
    guard rows.count == arguments.count || arguments.isEmpty else {
        print("there is no such row; bridge-table --rows prints all of them")
        exit(2)
    }
    Table(rows).printMeasured()
}
