// SPDX-License-Identifier: Apache-2.0
// Starts a process by GSubprocessLauncher.

import CGRunGIO
import Glibc

/// The settings of one start.
struct ProcessLauncher {
    let arguments: [String]
    let environment: GIO.Subprocess.Environment
    let workingDirectory: String?
    let input, output: GIO.Subprocess.Redirection
    let error: GIO.Subprocess.ErrorRedirection

    /// Starts the process, and returns its `GSubprocess` with one reference.
    func start() throws(GLibError) -> OpaquePointer {
        guard let program = arguments.first, !program.isEmpty else {
            throw GLibError(.invalidArgument, "no program to start")
        }
        for argument in arguments { _ = try withoutNUL(argument) }
        let launcher = GRef<OpaquePointer>(full: g_subprocess_launcher_new(flags).unsafelyUnwrapped)
        try configure(launcher.pointer)
        if input == .pipe { _ = ignoresBrokenPipes }
        var words = arguments.map { UnsafePointer<CChar>(strdup($0)) } + [nil]
        defer { for word in words { free(UnsafeMutablePointer(mutating: word)) } }
        let process = try GLibError.check { g_subprocess_launcher_spawnv(launcher.pointer, &words, $0) }
        guard let process else { throw GLibError(.failed, "\(program) cannot be started") }
        if let pipe = g_subprocess_get_stdin_pipe(process) { makeNonblocking(pipe) }
        return process
    }

    private func configure(_ launcher: OpaquePointer) throws(GLibError) {
        try environment.apply(to: launcher)
        if let workingDirectory {
            g_subprocess_launcher_set_cwd(launcher, try withoutNUL(workingDirectory))
        }
        // The launcher closes the descriptors.
        if let input = try input.open(O_RDONLY) { g_subprocess_launcher_take_stdin_fd(launcher, input) }
        let writing = O_WRONLY | O_CREAT | O_TRUNC
        if let output = try output.open(writing) { g_subprocess_launcher_take_stdout_fd(launcher, output) }
        if let error = try error.redirection?.open(writing) { g_subprocess_launcher_take_stderr_fd(launcher, error) }
        // Without this setup function, the process would inherit the blocked signals of this thread. Threads of
        // libdispatch block all signals, and so do the threads that they start. SIGTERM would then not end the process.
        g_subprocess_launcher_set_child_setup(launcher, unblockSignals, nil, nil)
    }

    private var flags: GSubprocessFlags {
        var flags = GSubprocessFlags(rawValue: 0)
        func add(_ flag: GSubprocessFlags) { flags = GSubprocessFlags(rawValue: flags.rawValue | flag.rawValue) }
        switch input {
        case .inherit: add(cglib_subprocess_stdin_inherit)
        case .pipe: add(cglib_subprocess_stdin_pipe)
        case .null, .descriptor, .file: break
        }
        switch output {
        case .null: add(cglib_subprocess_stdout_silence)
        case .pipe: add(cglib_subprocess_stdout_pipe)
        case .inherit, .descriptor, .file: break
        }
        switch error {
        case .null: add(cglib_subprocess_stderr_silence)
        case .pipe: add(cglib_subprocess_stderr_pipe)
        case .output: add(cglib_subprocess_stderr_merge)
        case .inherit, .descriptor, .file: break
        }
        return flags
    }
}

/// Called in the new process, between fork() and exec(). At this point, only functions that are safe in a signal
/// handler are allowed.
private let unblockSignals: GSpawnChildSetupFunc = { _ in
    var none = sigset_t()
    sigemptyset(&none)
    sigprocmask(SIG_SETMASK, &none, nil)
}

/// Ignores SIGPIPE in this process, unless the program handles the signal. Otherwise a write to a process that has
/// ended would end this process. GLib also ignores SIGPIPE for its sockets, and restores it in new processes.
let ignoresBrokenPipes: Void = {
    var action = sigaction()
    sigaction(SIGPIPE, nil, &action)
    if unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 { signal(SIGPIPE, SIG_IGN) }
}()

/// Makes the pipe nonblocking. Otherwise a write of more bytes than fit into the pipe would block the loop's thread.
/// Only this process uses this end of the pipe.
private func makeNonblocking(_ pipe: UnsafeMutablePointer<GOutputStream>) {
    let descriptor = g_unix_output_stream_get_fd(UnsafeMutablePointer(OpaquePointer(pipe)))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
}
