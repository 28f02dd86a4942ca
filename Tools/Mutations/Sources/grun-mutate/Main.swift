// SPDX-License-Identifier: Apache-2.0
// grun-mutate FILE...: the mutations of Swift sources, one line of JSON each. scripts/mutate tries them.

import Foundation
import SwiftParser
import SwiftSyntax

@main struct Main {
    static func main() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for path in CommandLine.arguments.dropFirst() {
            let tree = Parser.parse(source: try String(contentsOfFile: path, encoding: .utf8))
            let finder = MutationFinder(file: path, tree: tree)
            finder.walk(tree)
            for mutation in finder.mutations {
                print(String(decoding: try encoder.encode(mutation), as: UTF8.self))
            }
        }
    }
}
