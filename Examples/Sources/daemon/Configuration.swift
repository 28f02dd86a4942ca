// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration file. Examples/daemon.conf explains it.

import Glibc

struct Configuration {
    var child: [String] = []
    var firstDelay = 100
    var longestDelay = 10_000
    var patience = 5000
    var workers = 2
    var interval = 100
    var work = 0
    var statistics = 1000

    private struct Setting {
        let name: String
        let place: WritableKeyPath<Configuration, Int>
        let range: ClosedRange<Int>
    }

    private static var settings: [Setting] {
        [
            Setting(name: "first-delay", place: \.firstDelay, range: 1...86_400_000),
            Setting(name: "longest-delay", place: \.longestDelay, range: 1...86_400_000),
            Setting(name: "patience", place: \.patience, range: 1...86_400_000),
            Setting(name: "workers", place: \.workers, range: 0...64),
            Setting(name: "interval", place: \.interval, range: 1...86_400_000),
            Setting(name: "work", place: \.work, range: 0...1000),
            Setting(name: "statistics", place: \.statistics, range: 1...86_400_000),
        ]
    }

    init(contentsOf path: String) throws(ConfigurationError) {
        var number = 0
        for line in try Self.lines(of: path) {
            number += 1
            let line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw ConfigurationError("\(path): line \(number): a setting is NAME = VALUE")
            }
            let (name, value) = (parts[0].trimmed, parts[1].trimmed)
            if name == "child" {
                child = value.split(separator: " ").map(String.init)
                continue
            }
            guard let setting = Self.settings.first(where: { $0.name == name }) else {
                throw ConfigurationError("\(path): line \(number): no setting is called \(name)")
            }
            guard let amount = Int(value), setting.range.contains(amount) else {
                let (least, most) = (setting.range.lowerBound, setting.range.upperBound)
                throw ConfigurationError("\(path): line \(number): \(name) is a number from \(least) to \(most)")
            }
            self[keyPath: setting.place] = amount
        }
        if longestDelay < firstDelay {
            throw ConfigurationError("\(path): longest-delay is shorter than first-delay")
        }
    }

    private static func lines(of path: String) throws(ConfigurationError) -> [String] {
        guard let file = fopen(path, "re") else {
            throw ConfigurationError("\(path): \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var (line, size) = (UnsafeMutablePointer<CChar>?.none, 0)
        defer { free(line) }
        var lines: [String] = []
        while getline(&line, &size, file) >= 0, let line { lines.append(String(cString: line)) }
        if ferror(file) != 0 { throw ConfigurationError("\(path): \(String(cString: strerror(errno)))") }
        return lines
    }
}

struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        let words = drop(while: \.isWhitespace)
        return String(words.reversed().drop(while: \.isWhitespace).reversed())
    }
}
