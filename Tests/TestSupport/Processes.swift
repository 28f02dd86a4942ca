// SPDX-License-Identifier: Apache-2.0
// Real signals and real children.

import Glibc

/// Returns one of the signals from SIGRTMIN on, which the kernel queues. Each test uses its own number.
public func queuedSignal(_ number: Int32) -> Int32 { __libc_current_sigrtmin() + number }

/// Returns the process's disposition of a signal: "default", "ignored", or the handler's address.
public func disposition(of signal: Int32) -> String {
    var action = sigaction()
    sigaction(signal, nil, &action)
    switch unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) {
    case 0: return "default"
    case 1: return "ignored"
    case let address: return String(address, radix: 16)
    }
}

/// Sends a signal to this process. The kernel chooses the thread, so the handler may run a little later.
public func sendToProcess(_ signal: Int32, times: Int = 1) {
    for _ in 0..<times { kill(getpid(), signal) }
}

/// Sends a signal to the calling thread. The handler returns before this function does.
public func raiseHere(_ signal: Int32, times: Int = 1) {
    unblock(signal)
    for _ in 0..<times { raise(signal) }
}

/// Unblocks a signal in the calling thread. libdispatch's threads, and threads that they start, block all signals.
public func unblock(_ signal: Int32) {
    var mask = sigset_t()
    sigemptyset(&mask)
    sigaddset(&mask, signal)
    pthread_sigmask(SIG_UNBLOCK, &mask, nil)
}

/// Starts a program with no signal blocked, even if the calling thread blocks signals.
func spawn(
    _ path: String, _ actions: UnsafePointer<posix_spawn_file_actions_t>?,
    _ arguments: inout [UnsafeMutablePointer<CChar>?], _ variables: UnsafePointer<UnsafeMutablePointer<CChar>?>?
) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var child = pid_t()
    let error = posix_spawn(&child, path, actions, &attributes, &arguments, variables)
    precondition(error == 0, "\(path) cannot be started (\(error)): build the tests with swift build --build-tests")
    return child
}

/// Starts a program that runs a line of shell.
public func startShell(_ line: String) -> pid_t { start(["/bin/sh", "-c", line]) }

/// Starts a child that sleeps until it is killed.
public func startSleeper() -> pid_t { start(["/bin/sleep", "3600"]) }

private func start(_ words: [String]) -> pid_t {
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    return spawn(words[0], nil, &arguments, environ)
}

/// Reaps a child in the place of the loop. Returns its exit code, or -1 on failure.
@discardableResult public func reap(_ child: pid_t) -> Int32 {
    var status: Int32 = 0
    var result = waitpid(child, &status, 0)
    while result < 0 && errno == EINTR { result = waitpid(child, &status, 0) }
    return result == child ? status >> 8 & 0xFF : -1
}

/// Whether a process exists. A process that has ended but was not reaped exists.
public func exists(_ process: pid_t) -> Bool { kill(process, 0) == 0 }

/// Swift does not import fork(2). The child must make only system calls, and does not return.
public func fork(_ body: () -> Int32) -> pid_t {
    guard let symbol = dlsym(nil, "fork") else { fatalError("no fork") }
    let child = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
    if child == 0 { _exit(body()) }
    return child
}
