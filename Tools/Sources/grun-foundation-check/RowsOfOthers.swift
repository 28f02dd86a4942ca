// SPDX-License-Identifier: Apache-2.0
// Work that has to arrive: sockets and sessions on the run loop, work of other threads, repeated work.

// CoreFoundation links only beside Foundation.
import CoreFoundation
import Foundation
import FoundationNetworking
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

extension Rows {
    static let ofOthers: [Row] = [
        Row(name: "version-0", check: versionZero), Row(name: "socket", check: socket),
        Row(name: "url-session", check: urlSession), Row(name: "file-descriptor", check: fileDescriptor),
        Row(name: "worker", check: worker), Row(name: "worker-forms", check: workerForms),
        Row(name: "worker-empty-mode", check: emptyMode),
        Row(name: "again", check: again), Row(name: "storm", check: storm),
    ]

    // MARK: Core Foundation's own items

    private final class Called: @unchecked Sendable {
        let body = Mutex<(@Sendable () -> Void)?>(nil)
        func call() { body.withLock { $0 }?() }
    }

    /// Another thread signals a source and wakes the loop.
    static func versionZero() -> Outcome {
        signalled(500) { source in
            source.signal()
            source.wakeLoop()
        }
    }

    /// Makes `count` signals. `signal` must cause a call of the source.
    static func signalled(_ count: Int, _ signal: (MainSource) -> Void) -> Outcome {
        let source = MainSource()
        defer { source.invalidate() }
        return measured(count) { done in
            source.call(done)
            signal(source)
        }
    }

    static func socket() -> Outcome {
        var pair: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return Outcome(false, "no pair") }
        defer { close(pair[1]) }
        let called = Called()
        var context = CFSocketContext()
        context.info = Unmanaged.passUnretained(called).toOpaque()
        let socket = CFSocketCreateWithNative(
            nil, pair[0], CFSocketCallBackType.readCallBack.rawValue,
            { socket, _, _, _, info in
                var byte: UInt8 = 0
                _ = read(CFSocketGetNative(socket), &byte, 1)
                object(info, Called.self).call()
            }, &context)
        let source = CFSocketCreateRunLoopSource(nil, socket, 0)
        CFRunLoopAddSource(CFRunLoopGetMain(), source, kCFRunLoopDefaultMode)
        defer { withExtendedLifetime(called) { CFSocketInvalidate(socket) } }
        let writeEnd = pair[1]
        return measured(200) { done in
            called.body.withLock { $0 = done }
            _ = write(writeEnd, "x", 1)
        }
    }

    /// A libdispatch read source on the main queue, like CFFileDescriptor on Apple's systems.
    static func fileDescriptor() -> Outcome {
        let pipe = Pipe()
        let called = Called()
        let source = DispatchSource.makeReadSource(
            fileDescriptor: pipe.fileHandleForReading.fileDescriptor, queue: .main)
        source.setEventHandler {
            _ = pipe.fileHandleForReading.availableData
            called.call()
        }
        source.resume()
        defer { source.cancel() }
        return measured(200) { done in
            called.body.withLock { $0 = done }
            pipe.fileHandleForWriting.write(Data([1]))
        }
    }

    // MARK: A session with a server on this machine

    private final class Session: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        private let text = Mutex("")
        private let isMain = Mutex(true)
        let done = Mutex<(@Sendable (String) -> Void)?>(nil)

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            if !Foundation.Thread.isMainThread { isMain.withLock { $0 = false } }
            text.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let text = error.map { "\($0)" } ?? text.withLock { $0 }
            done.withLock { $0 }?(isMain.withLock { $0 } ? text : "on another thread: \(text)")
        }
    }

    /// Serves this many requests, each with the same text.
    private static func serve(_ text: String, requests: Int) -> UInt16? {
        let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { return nil }
        Foundation.Thread {
            for _ in 0..<requests {
                let peer = accept(listener, nil, nil)
                var request = [UInt8](repeating: 0, count: 4096)
                _ = read(peer, &request, request.count)
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
                _ = write(peer, answer, answer.utf8.count)
                close(peer)
            }
            close(listener)
        }.start()
        return UInt16(bigEndian: address.sin_port)
    }

    static func urlSession() -> Outcome {
        guard let port = serve("from the server", requests: 5) else { return Outcome(false, "no server") }
        for _ in 0..<5 {
            let text: String? = onMain { done in
                let delegate = Session()
                delegate.done.withLock { $0 = done }
                let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: .main)
                guard let url = URL(string: "http://127.0.0.1:\(port)/") else { return done("no URL") }
                session.dataTask(with: url).resume()
            }
            guard text == "from the server" else { return Outcome(false, text ?? "never") }
        }
        return Outcome(true, "5 answers, on the main thread")
    }

    // MARK: Other threads

    /// Runs the loop of a new thread, first by GRunLoop and then by Foundation.
    static func worker() -> Outcome {
        let ready = DispatchSemaphore(value: 0)
        let runLoop = Mutex<RunLoop?>(nil)
        let ended = DispatchSemaphore(value: 0)
        let isOver = Atomic(false)
        Foundation.Thread {
            guard let serving = try? GRunLoop.current.serve(RunLoop.current) else { return }
            runLoop.withLock { $0 = RunLoop.current }
            ready.signal()
            let loop = GRunLoop.current
            let source = GRunLoop.Source {}
            loop.add(source, forMode: .common)
            while !isOver.load(ordering: .relaxed) { loop.run(mode: .default, for: .milliseconds(100)) }
            serving.cancel()
            ended.signal()
        }.start()
        guard ready.wait(timeout: .now() + 5) == .success, let target = runLoop.withLock({ $0 }) else {
            return Outcome(false, "not served")
        }
        let outcome = measured(300) { done in target.perform { done() } }
        isOver.store(true, ordering: .relaxed)
        return ended.wait(timeout: .now() + 5) == .success ? outcome : .fails("it did not end")
    }

    /// Threads that end without ending their tokens, or whose tokens end on another thread.
    static func workerForms() -> Outcome {
        let before = descriptorCount()
        for round in 0..<50 {
            let ended = DispatchSemaphore(value: 0)
            let left = Mutex<GRunLoop.Serving?>(nil)
            Foundation.Thread {
                let serving = try? GRunLoop.current.serve(RunLoop.current)
                RunLoop.current.perform {}
                GRunLoop.current.run(for: .zero)
                if round % 3 > 0 { left.withLock { $0 = serving } }
                withExtendedLifetime(serving) { _ = ended.signal() }
            }.start()
            guard ended.wait(timeout: .now() + 5) == .success else {
                return Outcome(false, "round \(round) did not end")
            }
            if round % 3 == 1 { left.withLock { $0 }?.cancel() }
            usleep(2000)
        }
        usleep(200_000)
        let after = descriptorCount()
        return Outcome(after <= before + 3, "50 threads, descriptors \(before) and then \(after)")
    }

    // MARK: Repeated work

    static func descriptorCount() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
    }

    static func again() -> Outcome {
        let counts: [Int]? = onMain(within: 60) { done in
            let thread = Foundation.Thread {
                func round() {
                    guard let serving = try? GRunLoop.current.serve(RunLoop.current) else { return }
                    guard let second = try? GRunLoop.current.serve(RunLoop.current) else { return }
                    serving.cancel()
                    serving.cancel()
                    precondition(second.isServing)
                }
                round()
                let before = descriptorCount()
                let start = milliseconds()
                for _ in 0..<1000 { round() }
                done([before, descriptorCount(), Int(milliseconds() - start)])
            }
            thread.start()
        }
        guard let counts else { return Outcome(false, "never") }
        return Outcome(
            counts[0] == counts[1], "1000 times, \(counts[2]) us each, descriptors \(counts[0]) and then \(counts[1])")
    }

    /// Many threads send blocks, timers and signals into every stage of a pass. Nothing may be left at the end.
    static func storm() -> Outcome {
        let total = ProcessInfo.processInfo.environment["STORM"].flatMap { Int($0) } ?? 40_000
        let threads = 8
        let performed = Atomic(0)
        let fired = Atomic(0)
        let signalled = Atomic(0)
        let seen = Atomic(0)
        let source = MainSource {
            seen.store(signalled.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
        }
        defer { source.invalidate() }
        let outstanding = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for index in 0..<(total / threads) {
                // Limits the backlog, which would look like a loss.
                while outstanding.load(ordering: .relaxed) > 1000 { usleep(50) }
                switch (index + thread) % 4 {
                case 0:
                    outstanding.add(1, ordering: .relaxed)
                    RunLoop.main.perform {
                        performed.add(1, ordering: .relaxed)
                        outstanding.subtract(1, ordering: .relaxed)
                    }
                case 1:
                    outstanding.add(1, ordering: .relaxed)
                    let timer = Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in
                        fired.add(1, ordering: .relaxed)
                        outstanding.subtract(1, ordering: .relaxed)
                    }
                    RunLoop.main.add(timer, forMode: index % 8 == 0 ? .common : .default)
                default:
                    signalled.add(1, ordering: .sequentiallyConsistent)
                    source.signal()
                    source.wakeLoop()
                }
            }
        }
        let start = milliseconds()
        func isDone() -> Bool {
            outstanding.load(ordering: .relaxed) == 0
                && seen.load(ordering: .sequentiallyConsistent) == signalled.load(ordering: .sequentiallyConsistent)
        }
        while !isDone(), milliseconds() < start + 5000 { usleep(500) }
        let took = milliseconds() - start
        let left = outstanding.load(ordering: .relaxed)
        let figure =
            "\(total) from 8 threads: \(left) left \(Int(took)) ms after the last; "
            + "\(performed.load(ordering: .relaxed)) blocks, \(fired.load(ordering: .relaxed)) timers, signal "
            + "\(seen.load(ordering: .relaxed)) of \(signalled.load(ordering: .relaxed))"
        return !isDone() ? .fails(figure) : took > 100 ? .late(figure) : .holds(figure)
    }
}
