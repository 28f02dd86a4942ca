// SPDX-License-Identifier: Apache-2.0
// The memory, descriptors and mappings of a process, as the kernel reports them, and their maxima over a time.

import GRunLoop
import Glibc
import TestSupport

/// In KiB and in pieces.
struct Holdings {
    var resident = 0
    var size = 0
    /// The shared memory of the whole system, because messages under way belong to no process.
    var shared = 0
    var descriptors = 0
    var mappings = 0

    init() {}

    init(of process: pid_t) {
        let status = text(of: "/proc/\(process)/status")
        resident = number(behind: "VmRSS:", in: status)
        size = number(behind: "VmSize:", in: status)
        shared = number(behind: "Shmem:", in: text(of: "/proc/meminfo"))
        mappings = text(of: "/proc/\(process)/maps").count { $0 == UInt8(ascii: "\n") }
        guard let directory = opendir("/proc/\(process)/fd") else { return }
        defer { closedir(directory) }
        while readdir(directory) != nil { descriptors += 1 }
    }

    func combined(_ other: Holdings, _ body: (Int, Int) -> Int) -> Holdings {
        var result = self
        result.resident = body(resident, other.resident)
        result.size = body(size, other.size)
        result.shared = body(shared, other.shared)
        result.descriptors = body(descriptors, other.descriptors)
        result.mappings = body(mappings, other.mappings)
        return result
    }
}

private func text(of path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while true {
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { return text }
        text += buffer[..<count]
    }
}

private func number(behind word: String, in text: [UInt8]) -> Int {
    for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: word.utf8) {
        let digits = line.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }
    return 0
}

/// Samples a process every 10 ms, by a thread of its own.
final class Sampler: Sendable {
    private let most: Shared<Holdings>
    private let isOver = Flag()
    private let thread: Shared<pthread_t?>

    init(_ process: pid_t) {
        let most = Shared(Holdings(of: process))
        self.most = most
        thread = Shared(nil)
        thread.value = startThread { [isOver] in
            while !isOver.wait(timeout: .milliseconds(10)) {
                let now = Holdings(of: process)
                most.update { $0 = $0.combined(now, max) }
            }
        }
    }

    /// Returns the maxima.
    func end() -> Holdings {
        isOver.set()
        if let thread = thread.value { join(thread) }
        return most.value
    }
}
