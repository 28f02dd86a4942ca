// SPDX-License-Identifier: Apache-2.0
// Measured times: quantiles, and histograms for the terminal and for a drawing.

import Glibc

/// Times in nanoseconds, in ascending order.
struct Series {
    let name: String
    let values: [Int64]

    init(name: String, of values: [Int64]) {
        self.name = name
        self.values = values.sorted()
    }

    func quantile(_ part: Double) -> Int64 {
        guard !values.isEmpty else { return 0 }
        return values[min(values.count - 1, Int(Double(values.count) * part))]
    }

    var title: String { "\(name): median \(text(0.5)), 99th percentile \(text(0.99))" }

    func text(_ part: Double) -> String { Self.text(quantile(part)) }

    static func text(_ nanoseconds: Int64) -> String {
        switch nanoseconds {
        case ..<1_000_000: "\(nanoseconds / 1000) us"
        case ..<10_000_000: "\(nanoseconds / 1_000_000).\(nanoseconds / 100_000 % 10) ms"
        default: "\(nanoseconds / 1_000_000) ms"
        }
    }

    // MARK: Bins

    /// The upper ends of the bins in nanoseconds: 10 us to 100 ms in a 1-2-5 series.
    static let bins: [Int64] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000].map {
        $0 * 1000
    }

    /// How many values are in each bin. A value above the last bin counts in the last bin.
    var counts: [Int] {
        var counts = Self.bins.map { _ in 0 }
        for value in values { counts[Self.bins.firstIndex { value < $0 } ?? counts.count - 1] += 1 }
        return counts
    }

    /// A row of text for each bin, from the first bin with values to the last bin with values.
    var histogram: [String] {
        let counts = counts
        guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 }) else {
            return []
        }
        let largest = counts.max() ?? 1
        return (first...last).map { index in
            let width = counts[index] == 0 ? 0 : max(1, counts[index] * 40 / largest)
            let label = "< " + Self.text(Self.bins[index])
            return label.padded(to: 9) + String(repeating: "#", count: width).padded(to: 41) + "\(counts[index])"
        }
    }
}

/// A drawing in the SVG format: histograms, one below the other.
struct Plot {
    let series: [Series]

    func write(to path: String) throws {
        guard let file = fopen(path, "w") else { throw ScenarioError("\(path): \(String(cString: strerror(errno)))") }
        fputs(svg, file)
        guard fclose(file) == 0 else { throw ScenarioError("\(path): \(String(cString: strerror(errno)))") }
    }

    var svg: String {
        let (width, panel, left, bar) = (760, 190, 60, 50)
        var body = ""
        for (index, one) in series.enumerated() {
            let top = index * panel
            let counts = one.counts
            let largest = max(1, counts.max() ?? 1)
            body += text(left, top + 22, one.title, size: 15)
            for (bin, count) in counts.enumerated() {
                let height = count * 110 / largest
                let x = left + bin * bar
                body +=
                    "<rect x=\"\(x + 2)\" y=\"\(top + 150 - height)\" width=\"\(bar - 4)\" height=\"\(height)\" "
                    + "fill=\"#3584e4\"/>\n"
                if count > 0 { body += text(x + bar / 2, top + 146 - height, "\(count)", size: 10, anchor: "middle") }
                body += text(x + bar / 2, top + 164, "< " + Series.text(Series.bins[bin]), size: 10, anchor: "middle")
            }
            let end = left + counts.count * bar
            body += "<line x1=\"\(left)\" y1=\"\(top + 150)\" x2=\"\(end)\" y2=\"\(top + 150)\" stroke=\"#77767b\"/>\n"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(series.count * panel)" \
            font-family="sans-serif">
            <rect width="100%" height="100%" fill="#ffffff"/>
            \(body)</svg>

            """
    }

    private func text(_ x: Int, _ y: Int, _ content: String, size: Int, anchor: String = "start") -> String {
        let escaped = content.flatMap { $0 == "<" ? Array("&lt;") : [$0] }
        return "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\" text-anchor=\"\(anchor)\">\(String(escaped))</text>\n"
    }
}
