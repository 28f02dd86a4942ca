// SPDX-License-Identifier: Apache-2.0
// A process that this process has started.

import CGRunGIO
import GRunLoop

extension GIO {
    /// A process that this process has started, with its standard input, output and error as streams.
    ///
    /// ```swift
    /// let process = try GIO.Subprocess(["journalctl", "--follow"], output: .pipe)
    /// for try await line in process.output!.lines { show(line) }
    /// let status = try await process.wait()
    /// ```
    ///
    /// To start a program and get all its output, use
    /// ``GIO/run(_:environment:workingDirectory:input:error:grace:)``.
    ///
    /// The process starts without blocked signals, and inherits no descriptors except the standard ones. GLib reaps the
    /// process when it ends, even if the program does not wait for it. Releasing the object does not end the process.
    ///
    /// Threads: any, except where a function says otherwise. The corresponding GLib type is `GSubprocess`.
    public final class Subprocess: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `Subprocess`. Threads: any.
        public nonisolated(unsafe) let pointer: OpaquePointer

        /// The stream of the process's standard input; nil if the standard input is not a pipe. Closing the stream ends
        /// the input. If the process has closed its input, writing throws ``GIO/ErrorCode/brokenPipe``. Threads: any.
        /// The corresponding GLib function is `g_subprocess_get_stdin_pipe`.
        public let input: OutputStream?
        /// The stream of the process's standard output; nil if the standard output is not a pipe. The stream ends when
        /// every process that holds the other end of the pipe has closed this end. Threads: any. The corresponding GLib
        /// function is `g_subprocess_get_stdout_pipe`.
        public let output: InputStream?
        /// The stream of the process's standard error; nil if the standard error is not a pipe. Threads: any. The
        /// corresponding GLib function is `g_subprocess_get_stderr_pipe`.
        public let error: InputStream?

        /// Starts a process. Returns after the program was started, and throws an error if it could not be started.
        ///
        /// - Parameters:
        ///   - arguments: the program and its arguments. A program without a slash is looked up in the `PATH` of this
        ///     process. No shell interprets the arguments.
        ///   - environment: the environment variables of the process.
        ///   - workingDirectory: the directory in which the process starts. Nil means the directory of this process. A
        ///     relative path of the program begins at this directory.
        ///   - input: the source of the standard input. With a pipe, `SIGPIPE` is ignored in this process from then on,
        ///     unless the program handles this signal.
        ///   - output: the destination of the standard output.
        ///   - error: the destination of the standard error.
        /// - Throws: `G_SPAWN_ERROR_NOENT` if there is no such program. Another `GSpawnError` if the program or the
        ///   directory cannot be used. ``GIO/ErrorCode/invalidArgument`` if `arguments` is empty, or if a text contains
        ///   a NUL. Another ``GIO/ErrorCode`` if a file cannot be opened.
        ///
        /// Threads: any. The process is not tied to a loop. The corresponding GLib function is
        /// `g_subprocess_launcher_spawnv`.
        public init(
            _ arguments: [String], environment: Environment = .inherit, workingDirectory: String? = nil,
            input: Redirection = .null, output: Redirection = .inherit, error: ErrorRedirection = .inherit
        ) throws(GLibError) {
            let launcher = ProcessLauncher(
                arguments: arguments, environment: environment, workingDirectory: workingDirectory, input: input,
                output: output, error: error)
            let process = try launcher.start()
            pointer = process
            self.input = g_subprocess_get_stdin_pipe(process).map { OutputStream(retaining: $0) }
            self.output = g_subprocess_get_stdout_pipe(process).map { InputStream(retaining: $0) }
            self.error = g_subprocess_get_stderr_pipe(process).map { InputStream(retaining: $0) }
        }

        deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

        /// The number of the process; nil if the process has ended and was reaped. Threads: any. The corresponding GLib
        /// function is `g_subprocess_get_identifier`.
        public var processID: Int32? {
            g_subprocess_get_identifier(pointer).flatMap { Int32(String(cString: $0)) }
        }

        /// Sends a signal to the process, for example `SIGHUP`. If the process has ended, no signal is sent, so a new
        /// process with the same number is safe. Threads: any. The corresponding GLib function is
        /// `g_subprocess_send_signal`.
        public func send(signal: Int32) { g_subprocess_send_signal(pointer, signal) }

        /// Sends `SIGTERM` to the process, to ask it to end. The process may ignore this signal. Threads: any.
        public func terminate() { send(signal: SIGTERM) }

        /// Ends the process with `SIGKILL`. The children of the process are not ended. Threads: any. The corresponding
        /// GLib function is `g_subprocess_force_exit`.
        public func kill() { g_subprocess_force_exit(pointer) }
    }
}
