// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end, and returns its output.

import CGRunGIO
public import GRunLoop

extension GIO.Subprocess {
    /// The result of a program that has ended.
    public struct Outcome: Hashable, Sendable {
        /// How the process has ended.
        public let status: GRunLoop.ExitStatus
        /// The bytes of the standard output.
        public let outputBytes: [UInt8]
        /// The bytes of the standard error; empty if the standard error was not a pipe.
        public let errorBytes: [UInt8]

        /// The standard output as text. Bytes that are not UTF-8 become U+FFFD.
        public var output: String { String(decoding: outputBytes, as: UTF8.self) }
        /// The standard error as text. Bytes that are not UTF-8 become U+FFFD.
        public var error: String { String(decoding: errorBytes, as: UTF8.self) }
    }
}

extension GIO {
    /// Starts a program, waits for its end, and returns its output and its status.
    ///
    /// ```swift
    /// let log = try await GIO.run(["git", "log", "--oneline"], workingDirectory: path)
    /// guard log.status.isSuccess else { ... }
    /// ```
    ///
    /// A program that fails is not an error of this function: see ``Subprocess/Outcome/status``.
    ///
    /// Cancelling the task sends `SIGTERM` to the process, and `SIGKILL` if the process still runs after `grace`. The
    /// call throws an error after the process was reaped. The children of the process are not ended.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments, as for ``Subprocess``.
    ///   - environment: the environment variables of the process.
    ///   - workingDirectory: the directory in which the process starts. Nil means the directory of this process.
    ///   - input: the bytes for the standard input, such as `text.utf8`. Nil means empty input.
    ///   - error: the destination of the standard error. With `.pipe`, the text is in ``Subprocess/Outcome/error``.
    ///   - grace: the time between `SIGTERM` and `SIGKILL`. With zero and negative values, only `SIGKILL` is sent.
    /// - Throws: the errors of ``Subprocess/init(_:environment:workingDirectory:input:output:error:)``;
    ///   `CancellationError` if the task was cancelled; the error of a pipe. If the loop ends, the call kills the
    ///   process and throws `GRunLoop.LoopEndedError`.
    ///
    /// Threads: as for ``call(cancellable:keeping:isolation:_:finish:)``. GLib has no such function.
    nonisolated(nonsending) public static func run(
        _ arguments: [String], environment: Subprocess.Environment = .inherit, workingDirectory: String? = nil,
        input: (some Sequence<UInt8>)? = [UInt8]?.none, error: Subprocess.ErrorRedirection = .inherit,
        grace: Duration = .seconds(5)
    ) async throws -> Subprocess.Outcome {
        let bytes: [UInt8]? = if let input { Array(input) } else { nil }
        let transfer = ProcessTransfer()
        var process: Subprocess?
        do {
            try await call(keeping: transfer) {
                let started = try Subprocess(
                    arguments, environment: environment, workingDirectory: workingDirectory,
                    input: bytes == nil ? .null : .pipe, output: .pipe, error: error)
                process = started
                try transfer.begin(with: started, input: bytes ?? [], endingAfter: grace, $0, $1, $2)
            } finish: { _, result, error in
                _ = g_task_propagate_boolean(result, error)
            }
        } catch {
            // The process can still run here only if the loop has ended.
            process?.kill()
            throw error
        }
        guard let process else { throw CancellationError() }
        return Subprocess.Outcome(
            status: process.status, outputBytes: transfer.output.bytes, errorBytes: transfer.error.bytes)
    }
}
