// SPDX-License-Identifier: Apache-2.0
// Message ports and their processes. Each test runs in its own process, grun-test-child.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

@Suite("Message ports of processes", .serialized) struct MessagePortProcessTests {
    private func lines(of scenario: String) -> [String] {
        let child = runChild(scenario)
        #expect(child.status == 0, "\(child.errors)")
        return child.output
    }

    @Test("a directory that is missing, open to others, a link or a file is refused, and the message names the remedy")
    func environment() {
        #expect(
            lines(of: "ports-environment") == [
                "unset: noRuntimeDirectory, noRuntimeDirectory",
                "empty: noRuntimeDirectory, noRuntimeDirectory",
                "relative: noRuntimeDirectory, noRuntimeDirectory",
                "missing: system \(ENOENT), system \(ENOENT)",
                "fresh: nothing, notFound",
                "open to the group: unsafeDirectory, unsafeDirectory",
                "names open to others: unsafeDirectory, unsafeDirectory",
                "a link: unsafeDirectory, unsafeDirectory",
                "a file: unsafeDirectory, unsafeDirectory",
                "200 characters: nothing, notFound",
            ])
    }

    @Test("a full and a read-only file system, and a missing /proc, are errors, and the message names the remedy")
    func fullFileSystem() {
        let output = lines(of: "ports-full")
        // If the system allows no namespace, the test cannot mount the file system.
        guard output != ["no namespace"], output != ["no mount"] else { return }
        #expect(
            output == [
                "no file left: system \(ENOSPC), notFound", "read-only: system \(EROFS), notFound",
                "without /proc: system \(ENOENT), system \(ENOENT)",
            ])
    }

    @Test("item 247: the directory of the names may have any path, also one that is not UTF-8")
    func anyPath() {
        #expect(lines(of: "ports-under-any-path") == ["found", "in that directory: true"])
    }

    @Test("item 247: the name of a killed owner is free immediately, even while a child that it forked lives")
    func killedOwner() async throws {
        let path = RuntimeDirectory.path
        let here = try GRunLoop.MessagePort("org.example.parent") { _ in }
        let child = runChild("ports-fork-and-die", sharing: path)
        let forked = try #require(child.output.first.flatMap { pid_t($0) })
        #expect(child.signal == SIGKILL)
        #expect(exists(forked))
        let port = try GRunLoop.MessagePort("org.example.forked") { _ in }
        #expect(port.name == "org.example.forked")
        port.invalidate()
        // The child has no copy of the owner's connection, so the port sees the owner disconnect.
        try await onFreshThread { loop in
            try loop.add(here, forMode: .default)
            loop.run(for: .milliseconds(50))
            #expect(here.connectionCount == 0)
        }
        here.invalidate()
        kill(forked, SIGKILL)
    }

    @Test("another user gets no message, and is not trusted", .enabled(if: geteuid() == 0))
    func otherUser() {
        #expect(
            lines(of: "ports-other-user") == [
                "its directory: closed", "another user: let go of", "an impostor: notPermitted",
            ])
    }

    @Test("at the descriptor limit clients wait, the loop does not spin, and it continues afterwards")
    func noDescriptors() {
        #expect(
            lines(of: "ports-without-descriptors") == [
                "at the limit: limitReached, limitReached", "not let in: 0 messages, few passes", "let in: 1 message",
            ])
    }

    @Test("a port that had no descriptor left for a client still accepts clients in another loop")
    func movesWithoutDescriptors() {
        #expect(lines(of: "ports-move-without-descriptors") == ["let in by the other loop"])
    }

    @Test("if there is no descriptor to wait for a reply, nothing is sent, and the client gets an error")
    func asksWithoutDescriptors() {
        #expect(
            lines(of: "ports-ask-without-descriptors") == [
                "before: none", "0 left, a thread: no descriptor", "1 left, a thread: no descriptor",
                "a task: no descriptor", "nobody who waits: no descriptor", "received: [0, 4]",
            ])
    }

    @Test("if there is no descriptor to wait for room, the sender gets an error immediately, and nothing is sent")
    func sendsWithoutDescriptors() {
        #expect(
            lines(of: "ports-send-without-descriptors") == [
                "0 left: no descriptor, at once", "1 left: no descriptor, at once", "those sent came",
            ])
    }

    @Test(
        "if no memory is available for a large message, nothing is sent, the sender gets the reason, and nothing leaks")
    func sendsWithoutMemory() {
        #expect(
            lines(of: "ports-send-without-memory") == [
                "no descriptor left: no descriptor", "no room: EFBIG, 0 descriptors more", "received: [0, 3]",
            ])
    }

    @Test("4,096 senders are accepted, and others are refused until one disconnects, which is logged once")
    func crowded() {
        let output = lines(of: "ports-crowded")
        guard output != ["too few descriptors"] else { return }
        #expect(
            output == [
                "4096 let in: warning: message port \"org.example.crowded\" has 4096 senders, which is the limit, "
                    + "and refuses others until one disconnects. Use one connection in each process",
                "one more: turned away", "when one has gone: let in, 0 messages",
            ])
    }

    @Test("item 248 (our rule): a name is free when its port is invalidated or renamed, even if children have copies")
    func namesAgain() {
        #expect(lines(of: "ports-names-again") == ["0 refused, many children"])
    }

    @Test("an invalidated port leaves no file, and removes no file of another port")
    func namesLeft() {
        #expect(
            lines(of: "ports-names-left") == ["0 files left", "after a tidier: 2 files, nothing", "0 files left"])
    }

    @Test("a port sets the modes of its files whatever the umask is, and completes modes that were left incomplete")
    func namesUmask() {
        let line = "700 600 1600, nothing, taken, nothing"
        #expect(
            lines(of: "ports-names-umask") == [line, line, line, line, "left behind: notFound, nothing, 0 files"])
    }

    @Test(
        "a process with the overflow number of its user namespace is refused with an error", arguments: [false, true])
    func unknownUsers(isMapped: Bool) {
        let output = lines(of: isMapped ? "ports-names-mapped-to-overflow" : "ports-names-unmapped")
        // The system may refuse new namespaces.
        guard output != ["no namespace"] else { return }
        let refused = ["unknownUsers, unknownUsers"]
        #expect(
            output == refused + (isMapped ? [] : ["a peer of a port that was there before: let go of"]))
    }

    @Test("ports work in a user namespace that maps the user, and for user 65534 if every user has a number")
    func knownUsers() {
        let mapped = lines(of: "ports-names-mapped")
        #expect(mapped == ["nothing, notFound"] || mapped == ["no namespace"])
        #expect(lines(of: "ports-names-of-overflow") == ["nothing, notFound"])
    }

    @Test("a port can be created and found after the main thread has ended")
    func mainThreadEnded() {
        #expect(lines(of: "ports-names-main-thread-ended") == ["nothing"])
    }

    @Test("item 248 (our rule): 20 processes want one name, and some owners are killed: there is one owner at a time")
    func race() {
        let said = Shared<[String]>([])
        let path = RuntimeDirectory.path
        let threads = (0..<20).map { _ in
            startThread {
                // A killed process is replaced by a new one.
                while true {
                    let child = runChild("ports-race", sharing: path)
                    if child.signal == SIGKILL { continue }
                    let failure = child.status == 0 ? [] : ["status \(String(describing: child.status))"]
                    return said.update { $0 += child.output + failure }
                }
            }
        }
        for thread in threads { join(thread) }
        #expect(said.value == [])
        var takes = stat()
        #expect(stat(path + "/takes", &takes) == 0 && takes.st_size >= 50)
    }
}
