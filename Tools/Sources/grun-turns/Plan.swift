// SPDX-License-Identifier: Apache-2.0
// The cells that are tried.

enum Plan {
    /// Each kind beside each other, and beside another of its own.
    static let pairs = Kind.allCases.enumerated().flatMap { index, kind in Kind.allCases[index...].map { [kind, $0] } }

    /// All kinds of the loop, and one GLib source.
    static let all = Kind.allCases.filter { !$0.isGLibs } + [.glibDefault]

    /// Each pair in each form, with every pair of loads in the plain forms of both drivers. In the other forms the
    /// shortest two loads alternate.
    static let whole: [Cell] = cells { pair, form in
        let loads = form == .run || form == .host ? Load.allCases : threeLoads(pair)
        return loads.flatMap { first in loads.map { [first, $0] } }
    }

    /// Each pair in each form once, with one of nine pairs of loads. The loads are shifted from form to form and from
    /// pair to pair.
    static let quick: [Cell] = cells { pair, form in
        let place = (pair + (Form.allCases.firstIndex(of: form) ?? 0)) % 9
        let loads = threeLoads(pair)
        return [[loads[place / 3], loads[place % 3]]]
    }

    private static func threeLoads(_ pair: Int) -> [Load] {
        [pair.isMultiple(of: 2) ? .none : .microsecond, .millisecond, .twenty]
    }

    /// Cells of all forms come early, so that a defect of one form is found soon.
    private static func cells(_ loads: (_ pair: Int, _ form: Form) -> [[Load]]) -> [Cell] {
        let together = [Load.none, .millisecond].flatMap { load in
            Form.allCases.map { Cell(form: $0, kinds: all, loads: Array(repeating: load, count: all.count)) }
        }
        let apart = pairs.enumerated().flatMap { index, kinds in
            Form.allCases.flatMap { form in loads(index, form).map { Cell(form: form, kinds: kinds, loads: $0) } }
        }
        // If GLib's own order starves one of two kinds, the cell shows nothing about the loop.
        return (together + apart).filter { !$0.isGLibs }
    }
}
