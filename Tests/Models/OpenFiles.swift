// SPDX-License-Identifier: Apache-2.0
// Pipes and sockets for the model of descriptors, and the file behind each number.

import Glibc

/// A file is what the kernel calls an open file description: copies of a number stand for the same file.
final class OpenFiles {
    private struct Open {
        let file: Int
        /// Bytes written here can be read from the number: the other end, or nil for the writing end of a pipe.
        let feed: Int32?
    }

    private var open: [Int32: Open] = [:]
    /// Copies by number, as a child process could hold them. No source watches them.
    private var copies: [Int32: Open] = [:]
    /// The other ends. They are not watched, and stay open while the program runs.
    private var others: [Int32] = []
    private var made = 0

    private static let most = 24
    /// Copies and other ends have greater numbers, so that small ones are reused soon.
    private static let firstOfOthers: Int32 = 200

    var numbers: [Int32] { open.keys.sorted() }

    func file(of number: Int32) -> Int? { open[number]?.file }

    func open(isSocket: Bool) {
        guard open.count < Self.most else { return }
        var ends: [Int32] = [0, 0]
        let result = isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)
        guard result == 0 else { fatalError("no pipe: \(String(cString: strerror(errno)))") }
        let other = fcntl(ends[1], F_DUPFD_CLOEXEC, Self.firstOfOthers)
        Glibc.close(ends[1])
        for end in [ends[0], other] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        made += 1
        open[ends[0]] = Open(file: made, feed: other)
        others.append(other)
        Journal.note("open \(ends[0]), file \(made)")
    }

    func makeReady(_ number: Int32?, _ isReady: Bool) {
        guard let number, let feed = open[number]?.feed else { return }
        Journal.note("\(number) \(isReady ? "gets a byte" : "is emptied")")
        var byte: UInt8 = 0
        if isReady { _ = write(feed, &byte, 1) } else { while read(number, &byte, 1) == 1 {} }
    }

    func close(_ number: Int32) {
        guard open.removeValue(forKey: number) != nil else { return }
        Glibc.close(number)
    }

    func replace(_ number: Int32, by other: Int32) {
        guard let target = open[other] else { return }
        dup2(other, number)
        open[number] = target
    }

    /// The file stays open when its number is closed.
    func copy(_ number: Int32?) {
        guard let number, let target = open[number], copies.count < 8 else { return }
        let copy = fcntl(number, F_DUPFD_CLOEXEC, Self.firstOfOthers)
        Journal.note("\(copy) is a copy of \(number)")
        copies[copy] = target
    }

    /// Moves a copy to the lowest free number, or closes it.
    func reopen(_ random: inout Random) {
        guard let copy = random.element(of: copies.keys.sorted()), let target = copies[copy] else { return }
        if random.once(in: 2), open.count < Self.most {
            let number = dup(copy)
            Journal.note("\(number) is a copy of \(copy), file \(target.file)")
            open[number] = target
            return
        }
        Journal.note("close the copy \(copy)")
        copies[copy] = nil
        Glibc.close(copy)
    }

    func closeAll() {
        for number in Array(open.keys) + Array(copies.keys) + others { Glibc.close(number) }
        (open, copies, others) = ([:], [:], [])
    }
}
