// SPDX-License-Identifier: Apache-2.0
// The figures beside one kind of hostile peers, and the limits that SECURITY.md promises.

import GRunLoop

/// A test that cannot go on, and why.
struct Finding: Error { let text: String }

struct Row {
    let kind: String
    var took: [Duration] = []
    /// Measured after the peers have gone.
    var tookAfter: [Duration] = []
    /// How late the limits of other requests were.
    var overdue: [Duration] = []
    /// The maxima, less what there was before the attack.
    var most = Holdings()
    var deepest = 0
    /// How the attacked process ended.
    var end: String?

    /// How many mappings there may be: SECURITY.md limits what a handler keeps to 8,192.
    var mostMappings = 64

    private enum Limit {
        /// The longest time that an honest client waits, and that a limit is late.
        static let time = Duration.milliseconds(100)
        /// After the attack the port may be the last owner of a file of 1 GiB, and then frees its pages.
        static let timeAfter = Duration.milliseconds(300)
        /// In KiB.
        static let resident = 64 << 10
        /// A message of 1 GiB that is being handled has addresses and no pages. Each thread has 64 MiB and more.
        static let size = 1536 << 10
        /// 256 MiB of replies, plus those under way.
        static let shared = 320 << 10
        /// The connections, those that came while others were closed, and what waits.
        static let descriptors = crowd + 256
        static let depth = 16
    }

    /// Figures over their limits that other processes may have caused.
    var disturbances: [String] {
        var found: [String] = []
        let (here, after, late) = (worst(took), worst(tookAfter), worst(overdue))
        if took.isEmpty { found.append("no request was made") }
        if here > Limit.time { found.append("an honest client waited \(here.milliseconds) ms") }
        if after > Limit.timeAfter { found.append("an honest client waited \(after.milliseconds) ms after the attack") }
        if late > Limit.time { found.append("a limit was \(late.milliseconds) ms late") }
        if most.shared > Limit.shared {
            found.append("\(most.shared) KiB more are in shared memory, and \(Limit.shared) are promised")
        }
        return found
    }

    /// Figures over their limits that only the attacked process can have caused.
    var excess: [String] {
        var found: [String] = []
        func check(_ what: String, _ value: Int, _ limit: Int) {
            if value > limit { found.append("\(value) \(what), and \(limit) are promised") }
        }
        check("KiB more are resident", most.resident, Limit.resident)
        check("KiB more are mapped", most.size, Limit.size)
        check("descriptors more", most.descriptors, Limit.descriptors)
        check("mappings more", most.mappings, mostMappings)
        check("calls nested", deepest, Limit.depth)
        if let end { found.append("the attacked process \(end)") }
        return found
    }

    static let header = cells(
        [
            "beside 50 of", "requests", "median ms", "worst ms", "after ms", "limit late", "RSS MiB", "size MiB",
            "Shmem MiB", "descr.", "mappings", "depth",
        ])

    var line: String {
        Self.cells([
            kind, "\(took.count)", median(took).milliseconds, worst(took).milliseconds,
            tookAfter.isEmpty ? "" : worst(tookAfter).milliseconds, overdue.isEmpty ? "" : worst(overdue).milliseconds,
            "\(most.resident >> 10)", "\(most.size >> 10)",
            "\(most.shared >> 10)", "\(most.descriptors)", "\(most.mappings)", deepest == 0 ? "" : "\(deepest)",
        ])
    }

    private static func cells(_ texts: [String]) -> String {
        texts.enumerated().map { index, text in
            let space = String(repeating: " ", count: max(0, (index == 0 ? 23 : 10) - text.count))
            return index == 0 ? text + space : space + text
        }.joined(separator: " ")
    }

    private func worst(_ times: [Duration]) -> Duration { times.max() ?? .zero }
    private func median(_ times: [Duration]) -> Duration { times.isEmpty ? .zero : times.sorted()[times.count / 2] }
}

extension Duration {
    /// With two decimals.
    fileprivate var milliseconds: String {
        let hundredths = microseconds / 10
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
