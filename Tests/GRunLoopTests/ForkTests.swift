// SPDX-License-Identifier: Apache-2.0
// What a program does in a child that was forked while another thread had the loop's lock.

import Glibc
import TestSupport
import Testing

@Suite("Forked children") struct ForkTests {
    @Test(
        "item 15 (our rule): where another thread had the loop's lock at the fork, every call answers, and none hangs")
    func lockedAtTheFork() async throws {
        let child = runChild("forked-while-locked")
        #expect(child.output.count == 1, "\(child.output)")
        #expect(child.output.last?.hasSuffix(" calls") == true)
        #expect(child.status == 0, "\(child.errors)")
    }

    // Where a thread of a forked child ends the Thread Sanitizer's own runtime dies, and what is left as it is, since
    // it is the parent's, is a leak to the other.
    @Test(
        "a thread that ends in a child, and what it was the last to hold, take no lock of the parent's",
        .disabled(if: sanitizer != nil))
    func endsInAChild() async throws {
        let child = runChild("forked-thread-ends")
        #expect(child.output == ["let go", "ended"])
        #expect(child.status == 0, "\(child.errors)")
    }

    /// Values only: nothing of a loop is in there.
    private static let values: Set = [
        "Mode", "Activity", "RunResult", "Errors", "SystemError", "ExitStatus", "Context",
        "PortMessage", "MessageData", "MessageErrors", "StallReport", "StackFrame",
    ]
    /// What needs no look, or cannot be called there, with the reason.
    private static let left = [
        // Of values.
        "Trace.description", "Trace.description", "DescriptorSource.init", "DescriptorSource.description",
        "Timeline.init", "MessagePortMessage.descriptorCount",
        "MessagePortMessage.takeDescriptors",
        "RemoteMessagePort.descriptorCount", "RemoteMessagePort.takeDescriptors",
        // A job needs a thread that a child does not have.
        "RunOnLoop.run", "ChildExit.waitForExit", "LoopClock.sleep", "LoopClock.sleep", "LoopClock.sleep",
        "ItemSequence.next",
        "ItemSequence.next", "Thread.waitUntilEnded", "Thread.stopAndWait", "WaitUntilIdle.waitUntilIdle",
        "Channel.send",
        "ChannelElements.next", "ChannelElements.next", "PortSending.send", "MessageRequests.send",
        "MessageRequests.request",
        // By Swift's runtime, as enqueueTask.
        "Executor.enqueue",
        // Before anything else, on the main thread.
        "AsyncMain.driveAsyncMain",
        // The one of the source that stands for another object: the object's is called.
        "OwnDescriptorSource.invalidate",
    ]

    /// Whoever makes something public says in ForkedCalls what it does in a child.
    @Test("every public function, variable and initializer is called there")
    func nothingIsLeftOut() async throws {
        let called = runChild("forked-calls").output.filter { !$0.contains("/") }
        let expected = try publicNames()
        #expect(expected.count > 100)
        #expect(missing(in: called + Self.left, of: expected).isEmpty, "not called in a forked child")
        #expect(missing(in: expected, of: called + Self.left).isEmpty, "not public any more")
    }

    private func missing(in list: [String], of wanted: [String]) -> [String] {
        var rest = list
        return wanted.filter { name in
            guard let index = rest.firstIndex(of: name) else { return true }
            rest.remove(at: index)
            return false
        }
    }

    /// By the file in which it is declared: `Running.stop`. The C interface has a check of its own.
    private func publicNames() throws -> [String] {
        let sources = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/Sources/"
        let folders = try entries(of: sources + "GRunLoop").filter { !$0.contains(".") }.map { "GRunLoop/" + $0 }
        return try (folders + ["GRunLoopDiagnostics", "GRunLoopMessagePorts"]).flatMap { folder in
            try entries(of: sources + folder).filter { $0.hasSuffix(".swift") }.flatMap { file -> [String] in
                let name = String(file.dropLast(6))
                if Self.values.contains(name) { return [] }
                let lines = try lines(of: "\(sources)\(folder)/\(file)")
                return lines.compactMap(declaredName).map { name + "." + $0 }
            }
        }
    }

    private func declaredName(in line: Substring) -> String? {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let start = words.firstIndex(of: "public"), let first = words.first, !first.hasPrefix("//"),
            !first.hasPrefix("@_spi")
        else { return nil }
        for (index, word) in words.enumerated() where index > start {
            if word.hasPrefix("init(") { return "init" }
            guard ["func", "var"].contains(word), index + 1 < words.count else { continue }
            return String(words[index + 1].prefix { $0.isLetter || $0 == "_" })
        }
        return nil
    }

    private func entries(of folder: String) throws -> [String] {
        let directory = try #require(opendir(folder))
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }

    private func lines(of path: String) throws -> [Substring] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
