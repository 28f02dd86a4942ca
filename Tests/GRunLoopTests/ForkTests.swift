// SPDX-License-Identifier: Apache-2.0
// Calls of a program in a child that was forked while another thread had the loop's lock.

import Glibc
import TestSupport
import Testing

@Suite("Forked children") struct ForkTests {
    @Test(
        "item 15 (our rule): if another thread had the loop's lock at the fork, every call returns, and none hangs")
    func lockedAtTheFork() async throws {
        let child = runChild("forked-while-locked")
        #expect(child.output.count == 1, "\(child.output)")
        #expect(child.output.last?.hasSuffix(" calls") == true)
        #expect(child.status == 0, "\(child.errors)")
    }

    // In a forked child the Thread Sanitizer's runtime dies when a thread ends. The address sanitizer reports the
    // parent's objects as leaks there.
    @Test(
        "a thread that ends in a forked child takes no lock of the parent's, nor do the objects that it releases last",
        .disabled(if: sanitizer != nil))
    func endsInAChild() async throws {
        let child = runChild("forked-thread-ends")
        #expect(child.output == ["let go", "ended"])
        #expect(child.status == 0, "\(child.errors)")
    }

    @Test(
        "in a child that was forked while a loop ended, nothing of the loop is called or released",
        .disabled(if: sanitizer != nil))
    func forkedWhileLoopEnds() async throws {
        let child = runChild("forked-while-loop-ends")
        let ends = Array(repeating: "a child ended with 0", count: 3)
        #expect(child.output.sorted() == ends + ["cancelled", "cancelled", "released", "target released"])
        #expect(child.status == 0, "\(child.errors)")
    }

    /// Plain values that contain nothing of a loop.
    private static let values: Set = [
        "Mode", "Activity", "RunResult", "Errors", "SystemError", "ExitStatus", "Context",
        "PortMessage", "MessageData", "MessageErrors", "StallReport", "StackFrame",
    ]
    /// Public declarations that the child does not call, with the reason.
    private static let left = [
        // Members of plain values.
        "Trace.description", "Trace.description", "DescriptorSource.init", "DescriptorSource.description",
        "Timeline.init", "MessagePortMessage.descriptorCount",
        "MessagePortMessage.takeDescriptors",
        "RemoteMessagePort.descriptorCount", "RemoteMessagePort.takeDescriptors",
        // Jobs need a thread that a child does not have.
        "RunOnLoop.run", "ChildExit.waitForExit", "LoopClock.sleep", "LoopClock.sleep", "LoopClock.sleep",
        "ItemSequence.next",
        "ItemSequence.next", "Thread.waitUntilEnded", "Thread.stopAndWait", "WaitUntilIdle.waitUntilIdle",
        "Channel.send",
        "ChannelElements.next", "ChannelElements.next", "PortSending.send", "MessageRequests.send",
        "MessageRequests.request",
        // Swift's runtime calls it, as enqueueTask does.
        "Executor.enqueue",
        // It is called before anything else, on the main thread.
        "AsyncMain.driveAsyncMain",
        // The source stands for another object, and the child calls that object's function.
        "OwnDescriptorSource.invalidate",
    ]

    /// Each new public declaration needs a call in ForkedCalls that shows its behaviour in a child.
    @Test("the child calls every public function, variable and initializer")
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

    /// The public names, by the file that declares them: `Running.stop`. The C interface has a check of its own.
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
