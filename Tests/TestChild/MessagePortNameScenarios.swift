// SPDX-License-Identifier: Apache-2.0
// The names of message ports: leftover files, and the effects of a umask, a user namespace and the end of the main
// thread.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

let messagePortNameScenarios: [String: @Sendable () throws -> Void] = [
    "ports-names-again": namesAgain,
    "ports-names-left": namesLeft,
    "ports-names-umask": namesUmask,
    "ports-names-unmapped": namesUnmapped,
    "ports-names-mapped": { namesMapped(to: 0) },
    "ports-names-mapped-to-overflow": { namesMapped(to: overflowUser) },
    "ports-names-of-overflow": namesOfOverflow,
    "ports-names-main-thread-ended": namesMainThreadEnded,
]

private let overflowUser: uid_t = 65_534

/// Returns the error of a body as a word.
private func failure(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing"
    } catch {
        switch error as? GRunLoop.MessagePortError {
        case .unknownUsers: return "unknownUsers"
        case .notFound: return "notFound"
        case .unsafeDirectory: return "unsafeDirectory"
        case .taken: return "taken"
        default: return "\(error)"
        }
    }
}

private func take(_ name: String) -> String {
    failure { try GRunLoop.MessagePort(name) { _ in }.invalidate() }
}

private func lookUp(_ name: String) -> String { failure { _ = try GRunLoop.RemoteMessagePort.lookUp(name) } }

private func files(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return ["no directory"] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

// MARK: A name is taken again

/// Meanwhile, children are forked and spawned, which hold copies of all descriptors for a moment.
private func namesAgain() throws {
    _ = RuntimeDirectory.path
    let (isOver, children) = (Flag(), Counter())
    let threads = [
        startThread {
            while !isOver.isSet {
                reap(fork { 0 })
                children.increment()
            }
        },
        startThread {
            while !isOver.isSet {
                reap(startShell("exit 0"))
                children.increment()
            }
        },
    ]
    var refused = 0
    for round in 0..<2000 {
        do throws(GRunLoop.MessagePortError) {
            let port = try GRunLoop.MessagePort("org.example.again") { _ in }
            // A rename also frees the old name.
            if round % 2 == 0 { try port.setName("org.example.other") }
            port.invalidate()
        } catch { refused += 1 }
    }
    isOver.set()
    for thread in threads { join(thread) }
    say("\(refused) refused, \(children.value > 10 ? "many" : "few") children")
}

// MARK: Leftover files

private func namesLeft() throws {
    let directory = RuntimeDirectory.path + "/grun-ports"
    for _ in 0..<200 {
        let (first, second) = (RuntimeDirectory.newName(), RuntimeDirectory.newName())
        var port: GRunLoop.MessagePort? = try .init(first) { _ in }
        // A port that is refused must not remove the owner's file.
        guard take(first) == "taken", take(first) == "taken" else { return say("not taken") }
        try port?.setName(second)
        let others = try [first, RuntimeDirectory.newName()].map { try GRunLoop.MessagePort($0) { _ in } }
        for other in others { other.invalidate() }
        port = nil
    }
    say("\(files(in: directory).count) files left")
    // If a tidier has removed the port's lock file, the port must not remove the file that another port has made since.
    let port = try GRunLoop.MessagePort("org.example.tidied") { _ in }
    for file in files(in: directory) { unlink(directory + "/" + file) }
    let other = try GRunLoop.MessagePort("org.example.tidied") { _ in }
    port.invalidate()
    say("after a tidier: \(files(in: directory).count) files, \(lookUp("org.example.tidied"))")
    other.invalidate()
    say("\(files(in: directory).count) files left")
}

// MARK: Modes

/// Makes the directory, a lock and a socket with each umask, as a user who is subject to file modes.
private func namesUmask() throws {
    if geteuid() == 0 { guard setgid(overflowUser) == 0, setuid(overflowUser) == 0 else { return say("no user") } }
    let path = RuntimeDirectory.path
    for mask: mode_t in [0, 0o177, 0o377, 0o777] {
        let runtime = path + "/\(String(mask, radix: 8))"
        mkdir(runtime, 0o700)
        setenv("XDG_RUNTIME_DIR", runtime, 1)
        umask(mask)
        let name = RuntimeDirectory.newName()
        let port = try GRunLoop.MessagePort(name) { _ in }
        umask(0o022)
        let names = runtime + "/grun-ports"
        let modes = [names] + files(in: names).sorted().map { names + "/" + $0 }
        let texts = modes.map { path in
            var status = stat()
            return lstat(path, &status) == 0 ? String(status.st_mode & 0o7777, radix: 8) : "none"
        }
        say("\(texts.joined(separator: " ")), \(lookUp(name)), \(take(name)), \(take(RuntimeDirectory.newName()))")
        port.invalidate()
    }
    // Imitates a process that ended before it had set the modes.
    let (runtime, name) = (path + "/left", RuntimeDirectory.newName())
    mkdir(runtime, 0o700)
    setenv("XDG_RUNTIME_DIR", runtime, 1)
    guard take(name) == "nothing" else { return say("not made") }
    let port = try GRunLoop.MessagePort(name) { _ in }
    let names = runtime + "/grun-ports"
    let kept = files(in: names).map { names + "/" + $0 }
    port.invalidate()
    for file in kept where file.hasSuffix(".lock") { close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0)) }
    chmod(names, 0)
    say("left behind: \(lookUp(name)), \(take(name)), \(files(in: names).count) files")
}

// MARK: User namespaces

private func enterUserNamespace() -> Bool {
    typealias Unshare = @convention(c) (Int32) -> Int32
    let newUser: Int32 = 0x1000_0000
    guard let unshare = dlsym(nil, "unshare") else { return false }
    return unsafeBitCast(unshare, to: Unshare.self)(newUser) == 0
}

private func attempt() -> String { "\(take("org.example.namespace")), \(lookUp("org.example.namespace"))" }

/// A port that was made before the namespace is used as well.
private func namesUnmapped() throws {
    let directory = RuntimeDirectory.path + "/grun-ports"
    let count = Counter()
    let port = try GRunLoop.MessagePort("org.example.before") { _ in count.increment() }
    try GRunLoop.current.add(port, forMode: .default)
    guard let socket = files(in: directory).first(where: { !$0.hasSuffix(".lock") }) else { return say("no socket") }
    guard enterUserNamespace() else { return say("no namespace") }
    guard geteuid() == overflowUser else { return say("another overflow number") }
    say(attempt())
    let peer = connectBare(directory + "/" + socket)
    GRunLoop.current.run(for: .milliseconds(50))
    var byte: UInt8 = 0
    let isRefused = recv(peer, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    say("a peer of a port that was there before: \(isRefused ? "let go of" : "let in")")
    port.invalidate()
    exit(0)
}

/// A user who is mapped in the namespace, where other users are not.
private func namesMapped(to user: uid_t) {
    _ = RuntimeDirectory.path
    let text = "\(user) \(geteuid()) 1"
    guard enterUserNamespace() else { return say("no namespace") }
    let map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC)
    guard write(map, text, text.utf8.count) == text.utf8.count else { return say("no namespace") }
    close(map)
    say(geteuid() == user ? attempt() : "user \(geteuid())")
    exit(0)
}

/// If all users are mapped, the overflow number belongs to a real user.
private func namesOfOverflow() {
    guard geteuid() != 0 || (setgid(overflowUser) == 0 && setuid(overflowUser) == 0) else { return say("no user") }
    _ = RuntimeDirectory.path
    say(attempt())
}

// MARK: Threads

private func namesMainThreadEnded() {
    _ = RuntimeDirectory.path
    let mainThread = threadID
    pthread_detach(
        startThread {
            guard waitUntil({ threadState(mainThread) == "Z" }) else { return say("the main thread is still there") }
            do {
                let port = try GRunLoop.MessagePort("org.example.threads") { _ in }
                say(lookUp("org.example.threads"))
                port.invalidate()
            } catch { say("\(error)") }
            exit(0)
        })
    pthread_exit(nil)
}
