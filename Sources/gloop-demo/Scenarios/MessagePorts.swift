// SPDX-License-Identifier: Apache-2.0
// Scenario message-port: a client finds a service in another process by its name, sends it requests, and kills it.

import CGRunGLib
import GRunLoop
import GRunLoopMessagePorts
import Glibc

/// The service is a second process of gloop-demo. The service reports to its parent process through the parent's port.
/// The parent then sends three requests: one with few bytes, one with a million bytes that are not copied, and one with
/// a descriptor to write into. While the loop waits for a reply, its timers still fire (item 254). If the service is
/// killed, the pending request fails (item 257), and the service's name becomes free (item 247).
enum MessagePorts {
    /// The hidden command that starts the service. Its arguments are the parent's name and the service's name.
    static let command = "message-port-service"

    static let scenario = Scenario(
        "message-port", "Message ports: another process is found by name, gets requests, and is killed.",
        expected: """
            parent  | waits for a service
            service | is there
            parent  | 2 + 3 = 5
            parent  | the sum of 1,000,000 bytes is 127,493,856
            service | writes into the parent's pipe: hello
            timer   | went on while the parent waited
            service | is killed while it works
            parent  | the port has become invalid
            parent  | has the service's name itself
            """, body: run)

    private enum Call {
        static let (ready, add, sum, write, work): (Int32, Int32, Int32, Int32, Int32) = (1, 2, 3, 4, 5)
    }

    private static let mode: GRunLoop.Mode = "message-port"

    private static func run(_ log: Recorder) throws {
        let directory = RuntimeDirectory()
        let loop = GRunLoop.main
        let (own, service) = ("org.example.parent.\(getpid())", "org.example.service.\(getpid())")
        let fires = Shared(0)
        let port = try GRunLoop.MessagePort(own) { message in
            if message.id == Call.ready { loop.stop() }
        }
        try loop.add(port, forMode: mode)
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in fires.increment() }
        loop.add(timer, forMode: mode)
        defer {
            timer.invalidate()
            port.invalidate()
        }
        log.line("parent", "waits for a service")
        let child = try start(["/proc/self/exe", command, own, service])
        loop.run(mode: mode, for: .patience)
        log.line("service", "is there")

        let remote = try GRunLoop.RemoteMessagePort.lookUp(service)
        func ask(_ call: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32] = []) throws -> [UInt8] {
            Array(
                try remote.request(
                    call, data, descriptors: descriptors, sendTimeout: .patience, receiveTimeout: .patience,
                    replyMode: mode
                ).data)
        }
        log.line("parent", "2 + 3 = \(try ask(Call.add, [2, 3]).first ?? 0)")
        let million = GRunLoop.MessageData((0..<1_000_000).lazy.map { UInt8(truncatingIfNeeded: $0) })
        let sum = String(decoding: try ask(Call.sum, million), as: UTF8.self)
        log.line("parent", "the sum of 1,000,000 bytes is \(sum)")
        let pipe = try Pipe()
        _ = try ask(Call.write, GRunLoop.MessageData("hello".utf8), [pipe.writeEnd])
        log.line("service", "writes into the parent's pipe: \(pipe.read())")

        let before = fires.value
        let killer = GRunLoop.Timer(interval: .milliseconds(20), repeats: false) { _ in
            log.line("timer", fires.value > before ? "went on while the parent waited" : "stood still")
            log.line("service", "is killed while it works")
            kill(child, SIGKILL)
        }
        loop.add(killer, forMode: mode)
        do { _ = try ask(Call.work, []) } catch let error as GRunLoop.MessageRequestError {
            log.line("parent", error == .becameInvalid ? "the port has become invalid" : "\(error)")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        try port.setName(service)
        log.line("parent", "has the service's name itself")
        withExtendedLifetime(directory) {}
    }

    // MARK: The service

    static func serve(_ parent: String, _ name: String) throws {
        let loop = GRunLoop.main
        let kept = Shared<[GRunLoop.MessagePort.Reply]>([])
        let port = try GRunLoop.MessagePort(name) { message in
            guard let reply = message.reply else { return }
            switch message.id {
            case Call.add: _ = try? reply.send([message.data.reduce(0, &+)])
            case Call.sum:
                let sum = message.data.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } }
                _ = try? reply.send(GRunLoop.MessageData(grouped(sum).utf8))
            case Call.write:
                for descriptor in message.takeDescriptors() {
                    message.data.withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
                    close(descriptor)
                }
                _ = try? reply.send()
            // Keep the reply and never send it, so that the request stays pending.
            default: kept.value.append(reply)
            }
        }
        try loop.add(port, forMode: .default)
        try GRunLoop.RemoteMessagePort.lookUp(parent).send(Call.ready)
        loop.run(for: .patience)
    }

    private static func grouped(_ number: Int) -> String {
        number < 1000 ? "\(number)" : grouped(number / 1000) + "," + "\(1000 + number % 1000)".dropFirst()
    }

    private static func start(_ words: [String]) throws -> pid_t {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        guard posix_spawn(&child, words[0], nil, nil, &arguments, environ) == 0 else {
            throw ScenarioError("the service cannot be started")
        }
        return child
    }
}

/// A directory for the ports' names. The scenario needs this directory if XDG_RUNTIME_DIR is not set, as in a
/// container.
private final class RuntimeDirectory {
    private let path: String?

    init() {
        guard getenv("XDG_RUNTIME_DIR") == nil else {
            path = nil
            return
        }
        var template = Array("/tmp/gloop-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            path = nil
            return
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        setenv("XDG_RUNTIME_DIR", template, 1)
    }

    deinit {
        guard let path else { return }
        unsetenv("XDG_RUNTIME_DIR")
        if let directory = opendir(path + "/grun-ports") {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                unlink(path + "/grun-ports/" + name)
            }
            closedir(directory)
        }
        rmdir(path + "/grun-ports")
        rmdir(path)
    }
}
