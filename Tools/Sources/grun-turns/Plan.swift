// SPDX-License-Identifier: Apache-2.0
// Which cells are tried.

enum Plan {
    /// Each kind beside each other, and beside another of its own.
    static let pairs = Kind.allCases.enumerated().flatMap { index, kind in Kind.allCases[index...].map { [kind, $0] } }

    /// Everything that is ours, and one source of GLib's.
    static let all = Kind.allCases.filter { !$0.isGLibs } + [.glibDefault]

    /// Each pair in each form, with every pair of loads where either driver is by itself; elsewhere the shortest two
    /// take turns.
    static let whole: [Cell] = cells { pair, form in
        let loads = form == .run || form == .host ? Load.allCases : threeLoads(pair)
        return loads.flatMap { first in loads.map { [first, $0] } }
    }

    /// Each pair in each form once, with each of nine pairs of loads once: a square of forms and loads for each pair,
    /// and the next pair's is shifted.
    static let quick: [Cell] = cells { pair, form in
        let place = (pair + (Form.allCases.firstIndex(of: form) ?? 0)) % 9
        let loads = threeLoads(pair)
        return [[loads[place / 3], loads[place % 3]]]
    }

    private static func threeLoads(_ pair: Int) -> [Load] {
        [pair.isMultiple(of: 2) ? .none : .microsecond, .millisecond, .twenty]
    }

    /// What comes first is of every form: a defect of one is not to wait for the others'.
    private static func cells(_ loads: (_ pair: Int, _ form: Form) -> [[Load]]) -> [Cell] {
        let together = [Load.none, .millisecond].flatMap { load in
            Form.allCases.map { Cell(form: $0, kinds: all, loads: Array(repeating: load, count: all.count)) }
        }
        let apart = pairs.enumerated().flatMap { index, kinds in
            Form.allCases.flatMap { form in loads(index, form).map { Cell(form: form, kinds: kinds, loads: $0) } }
        }
        // Where GLib's own order leaves one of two out there is nothing to be seen of ours.
        return (together + apart).filter { !$0.isGLibs }
    }
}
