// SPDX-License-Identifier: Apache-2.0
// Requests to a message port of another process, and of this thread, and messages beside idle connections.

import BenchSupport
import CGRunGLib
import GRunLoop
import GRunLoopMessagePorts
import Glibc

/// The message that tells the service to end.
private let end: Int32 = -1
private let serviceName = "org.example.bench"
private let patience: Duration = .seconds(60)

/// A directory for the names of this run.
private func makeRuntimeDirectory() {
    var template = Array("/tmp/grun-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("mkdtemp: \(errno)") }
    setenv("XDG_RUNTIME_DIR", template, 1)
}

private func removeRuntimeDirectory() {
    let path = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
    _ = startProgram(["/bin/rm", "-rf", path]).map { waitpid($0, nil, 0) }
}

private func startProgram(_ words: [String]) -> pid_t? {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child = pid_t()
    return posix_spawn(&child, words[0], nil, nil, &arguments, environ) == 0 ? child : nil
}

extension Bench {
    /// The service replies with the same bytes, or with eight of them.
    func messagePort(size: Int) {
        makeRuntimeDirectory()
        defer { removeRuntimeDirectory() }
        guard let service = startProgram(["/proc/self/exe", "message-service", "0"]) else { fatalError("no service") }
        var found: GRunLoop.RemoteMessagePort?
        while found == nil {
            found = try? GRunLoop.RemoteMessagePort.lookUp(serviceName)
            if found == nil { bench_sleep_microseconds(1000) }
        }
        let data = GRunLoop.MessageData([UInt8](repeating: 7, count: size))
        let time = measure {
            for _ in 0..<n {
                let reply = try? found?.request(1, data, sendTimeout: patience, receiveTimeout: patience)
                guard reply?.data.count == (size > 1 << 16 ? 8 : size) else { fatalError("a wrong reply") }
            }
        }
        report(time)
        try? found?.send(end)
        waitpid(service, nil, 0)
    }

    func messageService() {
        do {
            let port = try GRunLoop.MessagePort(serviceName) { message in
                if message.id == end { bench.stop() }
                let isLarge = message.data.count > 1 << 16
                // Reads a byte of each page, because the receiver of a copy has the data in its cache.
                var sum = 0
                if isLarge {
                    message.data.withUnsafeBytes {
                        for at in stride(from: 0, to: $0.count, by: 4096) { sum &+= Int($0[at]) }
                    }
                }
                _ = try? message.reply?.send(
                    isLarge ? GRunLoop.MessageData(repeatElement(UInt8(sum & 1), count: 8)) : message.data)
            }
            try loop.add(port, forMode: .default)
            drive()
        } catch { fatalError("\(error)") }
    }

    /// The replying thread makes the request itself, so this is the cost of both sides in one process.
    func messagePortOfThisThread() {
        makeRuntimeDirectory()
        defer { removeRuntimeDirectory() }
        do {
            let port = try GRunLoop.MessagePort(replying: serviceName) { $0.data }
            try loop.add(port, forMode: .default)
            let remote = try GRunLoop.RemoteMessagePort.lookUp(serviceName)
            let data = GRunLoop.MessageData([UInt8](repeating: 7, count: 64))
            let time = measure {
                for _ in 0..<n { _ = try? remote.request(1, data, sendTimeout: .zero, receiveTimeout: patience) }
            }
            report(time)
            port.invalidate()
        } catch { fatalError("\(error)") }
    }

    /// One sender, and `n` other connections that send nothing.
    func messagesIdleTax() {
        makeRuntimeDirectory()
        defer { removeRuntimeDirectory() }
        do {
            let port = try GRunLoop.MessagePort(serviceName) { _ in count += 1 }
            try loop.add(port, forMode: .default)
            let remote = try GRunLoop.RemoteMessagePort.lookUp(serviceName)
            // Each object has its own connection, because each looks up a different name.
            var others: [GRunLoop.RemoteMessagePort] = []
            let before = bench_resident()
            for number in 0..<n {
                try port.setName("\(serviceName).\(number)")
                others.append(try GRunLoop.RemoteMessagePort.lookUp("\(serviceName).\(number)"))
            }
            loop.run(for: .milliseconds(10))
            let bytes = (bench_resident() - before) / max(n, 1)
            bench_begin_steps()
            while bench_step() {
                let before = count
                try remote.send(1)
                while count == before { loop.run(mode: .default, for: .seconds(60), returningAfterSourceHandled: true) }
            }
            report(bench_step_time(), "bytes:\(bytes)")
            withExtendedLifetime(others) { port.invalidate() }
        } catch { fatalError("\(error)") }
    }
}
