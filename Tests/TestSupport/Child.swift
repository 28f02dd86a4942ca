// SPDX-License-Identifier: Apache-2.0
// Scenarios in a separate process: the end of a main thread, a fork, the limit of descriptors.

import GRunLoop
import Glibc

/// The outcome of a child process.
public struct ChildOutcome: Sendable {
    /// The exit status; nil if a signal ended the process.
    public let status: Int32?
    public let signal: Int32?
    public let output: [String]
    public let errors: String

    /// Returns how often `text` occurs in its standard error.
    public func errorCount(of text: String) -> Int { errors.count(of: text) }
}

extension String {
    /// How often `part` occurs.
    public func count(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}

/// Runs a scenario of `grun-test-child`, or of another program that lies beside the tests' own executable.
///
/// - Parameter runtime: its XDG_RUNTIME_DIR; nil if it has none.
public func runChild(
    _ scenario: String, of program: String = "grun-test-child", sharing runtime: String? = nil,
    timeout: Duration = Patience.normal * 2
) -> ChildOutcome {
    let output = pipeForChild()
    let errors = pipeForChild()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO)

    let path = directoryOfExecutable() + "/" + program
    var arguments = [strdup(path), strdup(scenario), nil]
    defer { for argument in arguments { free(argument) } }
    // A crash may be expected, so its report is turned off.
    var environment = childEnvironment(runtime)
    defer { for variable in environment { free(variable) } }
    let child = spawn(path, &actions, &arguments, &environment)
    close(output.write)
    close(errors.write)

    let watchdog = Watchdog(timeout, "the child \(scenario) did not end") { [child] in kill(child, SIGKILL) }
    defer { watchdog.disarm() }
    let texts = readAll([output.read, errors.read])
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    return ChildOutcome(
        status: signal == 0 ? (status >> 8) & 0xff : nil, signal: signal == 0 ? nil : signal,
        output: texts[0].split(separator: "\n").map(String.init), errors: texts[1])
}

/// ``runChild(_:of:sharing:timeout:)`` on its own thread, because a test that blocks a thread of Swift's pool delays
/// other tests.
public func outcome(
    ofChild scenario: String, of program: String = "grun-test-child"
) async -> ChildOutcome {
    await withCheckedContinuation { continuation in
        pthread_detach(startThread { continuation.resume(returning: runChild(scenario, of: program)) })
    }
}

private func pipeForChild() -> (read: Int32, write: Int32) {
    // Both ends are close-on-exec. dup2 makes the child's copies.
    let ends = System.pipe(flags: O_CLOEXEC)
    return (ends.readEnd, ends.writeEnd)
}

private func readAll(_ descriptors: [Int32]) -> [String] {
    var bytes = descriptors.map { _ in [UInt8]() }
    var open = Set(descriptors.indices)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !open.isEmpty {
        var records = open.sorted().map { pollfd(fd: descriptors[$0], events: Int16(POLLIN), revents: 0) }
        _ = poll(&records, nfds_t(records.count), -1)
        for (record, index) in zip(records, open.sorted()) where record.revents != 0 {
            let count = read(record.fd, &buffer, buffer.count)
            if count > 0 {
                bytes[index] += buffer.prefix(count)
            } else if count == 0 || errno != EINTR {
                open.remove(index)
                close(record.fd)
            }
        }
    }
    return bytes.map { String(decoding: $0, as: UTF8.self) }
}

/// The directory of the tests' executable.
public func directoryOfExecutable() -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
}

private func childEnvironment(_ runtime: String?) -> [UnsafeMutablePointer<CChar>?] {
    var variables: [UnsafeMutablePointer<CChar>?] = [strdup("SWIFT_BACKTRACE=enable=no")]
    if let runtime { variables.append(strdup("XDG_RUNTIME_DIR=" + runtime)) }
    let names = [
        "PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "G_SLICE", "GRUN_SANITIZER",
        "GRUN_STRESS_JOBS", "GRUN_ENDINGS",
    ]
    for name in names {
        guard let value = getenv(name) else { continue }
        variables.append(strdup(name + "=" + String(cString: value)))
    }
    return variables + [nil]
}

/// Prints a line without buffering, so that the lines stay in order in every end of the process.
public func say(_ line: String) {
    let text = line + "\n"
    _ = write(STDOUT_FILENO, text, text.utf8.count)
}

/// "thread" or "address" if the tests run under that sanitizer.
public let sanitizer = getenv("GRUN_SANITIZER").map { String(cString: $0) }
