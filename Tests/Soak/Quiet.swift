// SPDX-License-Identifier: Apache-2.0
// The descriptors, threads and memory of the process while nothing is under way.

import GRunLoop
import Glibc
import TestSupport

struct QuietPoint {
    let descriptors: Int
    let threads: Int
    let bytes: Int

    static func look() -> QuietPoint {
        QuietPoint(descriptors: openDescriptorCount(), threads: threadCount(), bytes: bytesInUse())
    }

    /// Counts without libdispatch's threads, which come and go. One of them resumes cancelled tasks.
    private static func threadCount() -> Int {
        guard let directory = opendir("/proc/self/task") else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            let id = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !id.hasPrefix(".") else { continue }
            let name = readFile("/proc/self/task/\(id)/comm")
            if !name.isEmpty, !name.contains("-qos") { count += 1 }
        }
        return count
    }

    private static func readFile(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// The bytes that malloc has given out in all its arenas, and its maps for large pieces.
    private static func bytesInUse() -> Int {
        guard !Settings.isSanitized, let write = mallocInfo else { return 0 }
        var (start, size): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        guard let stream = open_memstream(&start, &size) else { return 0 }
        _ = write(0, stream)
        fclose(stream)
        defer { free(start) }
        let text = start.map { String(cString: $0) } ?? ""
        // The text lists each arena, and then the sum, in this order.
        let free = sum(text, "<total type=\"fast\"") + sum(text, "<total type=\"rest\"")
        return sum(text, "<system type=\"current\"") - free + sum(text, "<total type=\"mmap\"")
    }

    private typealias MallocInfo = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
    private static let mallocInfo = dlsym(nil, "malloc_info").map { unsafeBitCast($0, to: MallocInfo.self) }

    /// Returns the last size, which is that of all arenas.
    private static func sum(_ text: String, _ tag: String) -> Int {
        let lines = text.split(separator: "\n")
        guard let line = lines.last(where: { $0.hasPrefix(tag) }), let size = line.split(separator: "size=\"").last
        else { return 0 }
        return Int(size.prefix { $0.isNumber }) ?? 0
    }
}

/// The quiet points. Checks that they stay near the first one after the warm-up.
struct QuietPoints {
    private(set) var points: [QuietPoint] = []
    /// The rounds in which everything is used for the first time, and tables grow to their size.
    static let warmUp = 2
    /// The growth per round that is allowed on average. Tables and the lock store keep the size of the greatest crowd,
    /// which grows ever more slowly: 9 KB a round at first, 1.2 KB on average in 58 rounds (`make soak SECONDS=120`). A
    /// leak of 48 bytes per loop is 8 KB in a round of loops only, which makes 170 loops.
    static let bytesARound = 2048.0
    /// The noise of quiet points, and the growth of tables: 165 KB in the first ten rounds, half of it freed again.
    private static let slack = 256 * 1024

    private var counted: ArraySlice<QuietPoint> { points.dropFirst(Self.warmUp - 1) }

    mutating func add(_ name: String) {
        // A joined thread, or the kernel's data of the thread, may not be gone yet.
        var point = QuietPoint.look()
        if let first = counted.first {
            _ = waitUntil(timeout: .seconds(3)) {
                point = QuietPoint.look()
                return point.descriptors <= first.descriptors && point.threads <= first.threads
            }
        } else {
            // Waits until the values stop falling, because all other points are compared with this one.
            var before = point
            repeat {
                before = point
                usleep(100_000)
                point = QuietPoint.look()
            } while point.threads < before.threads || point.descriptors < before.descriptors
        }
        points.append(point)
        guard let first = counted.first else { return }
        if point.descriptors != first.descriptors {
            Findings.add("leak: \(point.descriptors) descriptors, \(first.descriptors) after warm-up; \(name)")
        }
        if point.threads != first.threads {
            Findings.add("leak: \(point.threads) threads, \(first.threads) after warm-up; \(name)")
        }
    }

    /// The growth in bytes per round: the slope of the regression line.
    var growth: Double {
        let bytes = counted.map { Double($0.bytes) }
        guard bytes.count > 2 else { return 0 }
        let (middle, mean) = (Double(bytes.count - 1) / 2, bytes.reduce(0, +) / Double(bytes.count))
        var (up, across) = (0.0, 0.0)
        for (index, value) in bytes.enumerated() {
            up += (Double(index) - middle) * (value - mean)
            across += (Double(index) - middle) * (Double(index) - middle)
        }
        return up / across
    }

    func balance() {
        guard let first = counted.first, let last = counted.last, counted.count > 3 else { return }
        let allowed = Double(Self.slack) + Self.bytesARound * Double(counted.count)
        if growth * Double(counted.count) > allowed, Double(last.bytes - first.bytes) > allowed {
            Findings.add(
                "leak: \(last.bytes) bytes in use, \(first.bytes) after warm-up, \(Int(growth)) more each round")
        }
    }

    var figures: String {
        guard let last = counted.last else { return "no quiet point" }
        return
            "\(last.descriptors) descriptors, \(last.threads) threads, \(last.bytes / 1024) KB in use "
            + "(\(Int(growth)) bytes more a round)"
    }
}
