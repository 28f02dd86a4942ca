// SPDX-License-Identifier: Apache-2.0
// What the process has in its hands when nothing is under way: descriptors, threads, memory.

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

    /// Without libdispatch's own, one of which resumes a task that is cancelled: they come and go.
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

    /// What malloc has given out in all its arenas, and maps for large pieces.
    private static func bytesInUse() -> Int {
        guard !Settings.isSanitized, let write = mallocInfo else { return 0 }
        var (start, size): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        guard let stream = open_memstream(&start, &size) else { return 0 }
        _ = write(0, stream)
        fclose(stream)
        defer { free(start) }
        let text = start.map { String(cString: $0) } ?? ""
        // Of each arena, and then of all of them, in this order.
        let free = sum(text, "<total type=\"fast\"") + sum(text, "<total type=\"rest\"")
        return sum(text, "<system type=\"current\"") - free + sum(text, "<total type=\"mmap\"")
    }

    private typealias MallocInfo = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
    private static let mallocInfo = dlsym(nil, "malloc_info").map { unsafeBitCast($0, to: MallocInfo.self) }

    /// The last one's size: that of all arenas.
    private static func sum(_ text: String, _ tag: String) -> Int {
        let lines = text.split(separator: "\n")
        guard let line = lines.last(where: { $0.hasPrefix(tag) }), let size = line.split(separator: "size=\"").last
        else { return 0 }
        return Int(size.prefix { $0.isNumber }) ?? 0
    }
}

/// The quiet points, and whether they stay where the first one after the warm-up was.
struct QuietPoints {
    private(set) var points: [QuietPoint] = []
    /// Rounds in which everything is used for the first time, and tables get their size.
    static let warmUp = 2
    /// What a round may add, on average. Tables and the store of locks keep the size of the greatest crowd, which grows
    /// ever more slowly: 9 KB a round at first, 1.2 KB on average of 58 rounds (`make soak SECONDS=120`). A leak of 48
    /// bytes a loop is 8 KB where nothing else runs: then a round makes 170 loops.
    static let bytesARound = 2048.0
    /// Within this quiet points vary, and tables grow: 165 KB in the first ten rounds, of which half went again.
    private static let slack = 256 * 1024

    private var counted: ArraySlice<QuietPoint> { points.dropFirst(Self.warmUp - 1) }

    mutating func add(_ name: String) {
        // A thread that was joined, and what the kernel has of it, may still be going.
        var point = QuietPoint.look()
        if let first = counted.first {
            _ = waitUntil(timeout: .seconds(3)) {
                point = QuietPoint.look()
                return point.descriptors <= first.descriptors && point.threads <= first.threads
            }
        } else {
            // Until it goes down no more: all others are compared with it.
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

    /// Bytes a round: the slope of the line that lies nearest to the points.
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
