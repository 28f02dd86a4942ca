// SPDX-License-Identifier: Apache-2.0
// Effects of message ports on a process, and of the process's end, forks and environment on message ports.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

let messagePortScenarios: [String: @Sendable () throws -> Void] = [
    "ports-thousand": portsThousand,
    "ports-memory": portsMemory,
    "ports-environment": portsEnvironment,
    "ports-full": portsOnFullFileSystems,
    "ports-fork-and-die": portsForkAndDie,
    "ports-other-user": portsOfAnotherUser,
    "ports-without-descriptors": portsWithoutDescriptors,
    "ports-move-without-descriptors": portsMoveWithoutDescriptors,
    "ports-ask-without-descriptors": portsAskWithoutDescriptors,
    "ports-send-without-descriptors": portsSendWithoutDescriptors,
    "ports-send-without-memory": portsSendWithoutMemory,
    "ports-crowded": portsCrowded,
]

private func portsThousand() throws {
    _ = RuntimeDirectory.path
    let loop = GRunLoop.current
    loop.run(for: .zero)
    func round() throws {
        let port = try GRunLoop.MessagePort(replying: RuntimeDirectory.newName()) { $0.data }
        try loop.add(port, forMode: .default)
        let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
        _ = try remote.request(1, [1], sendTimeout: .zero, receiveTimeout: .seconds(30))
        port.invalidate()
    }
    try round()
    let before = openDescriptorCount()
    for _ in 0..<1000 { try round() }
    say(openDescriptorCount() == before ? "none is left" : "\(openDescriptorCount() - before) are left")
}

/// The resident memory of the process in pages.
private func residentPages() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 200)
    fgets(&line, 200, file)
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return Int(text.split(separator: " ")[1]) ?? 0
}

private func portsMemory() throws {
    _ = RuntimeDirectory.path
    let loop = GRunLoop.current
    let port = try GRunLoop.MessagePort(replying: RuntimeDirectory.newName()) { $0.data }
    try loop.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
    func ask(_ count: Int) throws {
        for _ in 0..<count { _ = try remote.request(1, [1], sendTimeout: .zero, receiveTimeout: .seconds(30)) }
    }
    try ask(5000)
    let before = residentPages()
    try ask(30_000)
    // A leak of 16 bytes per request would be 120 pages.
    let more = residentPages() - before
    say(more < 100 ? "no more than before" : "\(more) pages more")
    port.invalidate()
}

// MARK: The environment

/// Prints how making a port and looking one up fail, by the first words of the errors.
private func attempt(_ what: String, remedy: String = "") {
    func failure(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing"
        } catch {
            let name = String(describing: error)
            guard name.contains("; \(remedy)") else { return "no remedy: \(name)" }
            return kind(of: error)
        }
    }
    let local = failure { try GRunLoop.MessagePort("org.example.attempt") { _ in }.invalidate() }
    let remote = failure { _ = try GRunLoop.RemoteMessagePort.lookUp("org.example.attempt") }
    say("\(what): \(local), \(remote)")
}

private func kind(of error: any Error) -> String {
    switch error as? GRunLoop.MessagePortError {
    case .noRuntimeDirectory: "noRuntimeDirectory"
    case .unsafeDirectory: "unsafeDirectory"
    case .notFound: "notFound"
    case .system(let errno, _): "system \(errno)"
    case .limitReached: "limitReached"
    case .notPermitted: "notPermitted"
    case .taken: "taken"
    case let error: "\(String(describing: error))"
    }
}

private func portsEnvironment() {
    unsetenv("XDG_RUNTIME_DIR")
    attempt("unset")
    setenv("XDG_RUNTIME_DIR", "", 1)
    attempt("empty")
    setenv("XDG_RUNTIME_DIR", "tmp", 1)
    attempt("relative")
    setenv("XDG_RUNTIME_DIR", "/tmp/grun-there-is-none", 1)
    attempt("missing")
    let path = RuntimeDirectory.path
    attempt("fresh")
    chmod(path, 0o750)
    attempt("open to the group")
    chmod(path, 0o700)
    chmod(path + "/grun-ports", 0o701)
    attempt("names open to others")
    rename(path + "/grun-ports", path + "/elsewhere")
    chmod(path + "/elsewhere", 0o700)
    symlink("elsewhere", path + "/grun-ports")
    attempt("a link")
    unlink(path + "/grun-ports")
    close(open(path + "/grun-ports", O_CREAT | O_WRONLY | O_CLOEXEC, 0o700))
    attempt("a file")
    unlink(path + "/grun-ports")
    // The path is too long for the address of a socket.
    let long = path + "/" + String(repeating: "d", count: 200)
    mkdir(long, 0o700)
    setenv("XDG_RUNTIME_DIR", long, 1)
    attempt("200 characters")
    exit(0)
}

/// Runs in its own mount namespace, if the system allows that.
private func portsOnFullFileSystems() {
    guard let mount = Namespace.enter() else { return say("no namespace") }
    let path = RuntimeDirectory.path
    guard mount(path, "size=64k,nr_inodes=2,mode=700", 0) else { return say("no mount") }
    // The directory of the names takes the last file.
    attempt("no file left")
    let (readOnly, remount): (UInt, UInt) = (1, 32)
    guard mount(path, "mode=700", 0), mount(path, "", readOnly | remount) else {
        return say("no mount")
    }
    attempt("read-only")
    guard mount(path, "mode=700", 0), mount("/proc", "mode=755", 0) else { return say("no mount") }
    attempt("without /proc", remedy: "mount /proc")
    exit(0)
}

private enum Namespace {
    typealias Mount = (String, String, UInt) -> Bool

    static func enter() -> Mount? {
        typealias Unshare = @convention(c) (Int32) -> Int32
        typealias RawMount =
            @convention(c) (
                UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UInt, UnsafePointer<CChar>?
            ) -> Int32
        guard let unshare = dlsym(nil, "unshare"), let raw = dlsym(nil, "mount") else { return nil }
        let (newUser, newMounts): (Int32, Int32) = (0x1000_0000, 0x0002_0000)
        let (user, group) = (geteuid(), getegid())
        let enter = unsafeBitCast(unshare, to: Unshare.self)
        if enter(newMounts) != 0 {
            guard enter(newUser | newMounts) == 0 else { return nil }
            for (file, text) in [
                ("setgroups", "deny"), ("uid_map", "\(user) \(user) 1"), ("gid_map", "\(group) \(group) 1"),
            ] {
                let descriptor = open("/proc/self/" + file, O_WRONLY)
                _ = write(descriptor, text, text.utf8.count)
                close(descriptor)
            }
        }
        let function = unsafeBitCast(raw, to: RawMount.self)
        // Makes the mounts private, so that other processes do not see them.
        let (recursive, isPrivate): (UInt, UInt) = (0x4000, 0x4_0000)
        guard function(nil, "/", nil, recursive | isPrivate, nil) == 0 else { return nil }
        return { path, options, flags in function("tmpfs", path, "tmpfs", flags, options) == 0 }
    }
}

// MARK: Processes

/// The owner of a name forks a child, prints the child's number, and is killed while the child lives.
private func portsForkAndDie() throws {
    let port = try GRunLoop.MessagePort("org.example.forked") { _ in }
    try GRunLoop.current.add(port, forMode: .default)
    let remote = try? GRunLoop.RemoteMessagePort.lookUp("org.example.parent")
    let child = fork {
        // Otherwise the reader of the output would also wait for the end of this child.
        for descriptor: Int32 in 0...2 { close(descriptor) }
        sleep(60)
        return 0
    }
    say("\(child)")
    withExtendedLifetime((port, remote)) { _ = kill(getpid(), SIGKILL) }
}

/// As root, checks that another user cannot use a port.
private func portsOfAnotherUser() throws {
    let nobody: uid_t = 65_534
    let path = RuntimeDirectory.path
    let loop = GRunLoop.current
    let port = try GRunLoop.MessagePort(replying: "org.example.mine") { _ in [1] }
    try loop.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.mine")
    _ = try remote.request(1, sendTimeout: .zero, receiveTimeout: .seconds(30))
    let socket = try Directory.socket(in: path + "/grun-ports")
    func asNobody(_ body: @escaping @Sendable () -> Int32) -> Int32 {
        reap(
            fork {
                guard setgid(nobody) == 0, setuid(nobody) == 0 else { return 99 }
                return body()
            })
    }
    say("its directory: \(asNobody { connect(socket) == nil ? EACCES : 0 } == EACCES ? "closed" : "open")")
    // Opens the directories, so that the socket itself must refuse.
    chmod(path, 0o755)
    chmod(path + "/grun-ports", 0o777)
    chmod(socket, 0o777)
    let stranger = fork {
        guard setgid(nobody) == 0, setuid(nobody) == 0, let connection = connect(socket) else { return 99 }
        var byte: UInt8 = 0
        return read(connection, &byte, 1) == 0 ? 0 : 1
    }
    loop.run(for: .milliseconds(300))
    say("another user: \(reap(stranger) == 0 ? "let go of" : "let in")")
    chmod(socket, 0o600)
    // The reverse case: another user has put a socket in the place of the port's socket.
    port.invalidate()
    let ready = Pipe()
    let impostor = fork {
        guard setgid(nobody) == 0, setuid(nobody) == 0, listen(at: socket) else { return 99 }
        ready.send()
        sleep(20)
        return 0
    }
    while ready.drain().isEmpty { usleep(1000) }
    chmod(path, 0o700)
    chmod(path + "/grun-ports", 0o700)
    do {
        _ = try GRunLoop.RemoteMessagePort.lookUp("org.example.mine")
        say("an impostor: connected")
    } catch { say("an impostor: \(kind(of: error))") }
    kill(impostor, SIGKILL)
    reap(impostor)
    exit(0)
}

private enum Directory {
    struct NotFound: Error {}

    /// The one socket in a directory.
    static func socket(in directory: String) throws -> String {
        guard let stream = opendir(directory) else { throw NotFound() }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            guard Int32(entry.pointee.d_type) == Int32(DT_SOCK) else { continue }
            return directory + "/"
                + withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
        }
        throw NotFound()
    }
}

private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
}

private func connect(_ path: String) -> Int32? {
    let connection = connectBare(path)
    return connection >= 0 ? connection : nil
}

/// Connects without the library. Returns -1 if that fails.
func connectBare(_ path: String) -> Int32 {
    let connection = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    return withAddress(path) { connect(connection, $0, $1) } == 0 ? connection : -1
}

private func listen(at path: String) -> Bool {
    let listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    unlink(path)
    return withAddress(path) { bind(listener, $0, $1) } == 0 && listen(listener, 8) == 0
}

// MARK: Without free descriptors

private func portsWithoutDescriptors() throws {
    _ = RuntimeDirectory.path
    let loop = GRunLoop.current
    let count = Counter()
    let port = try GRunLoop.MessagePort("org.example.full") { _ in count.increment() }
    try loop.add(port, forMode: .default)
    loop.run(for: .zero)
    // A connection in the queue that cannot be accepted.
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.full")
    try remote.send(1)
    let opened = useUpDescriptors()
    attempt("at the limit")
    let passes = Counter()
    let observer = loop.on(.beforeTimers) { _ in passes.increment() }
    loop.run(for: .milliseconds(400))
    say("not let in: \(count.value) messages, \(passes.value < 40 ? "few passes" : "\(passes.value) passes")")
    for descriptor in opened { close(descriptor) }
    loop.run(for: .seconds(30), returningAfterSourceHandled: true)
    while count.value == 0 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    say("let in: \(count.value) message")
    observer.invalidate()
    exit(0)
}

/// A port could accept no connection. It moves to another loop, which accepts the waiting connection.
private func portsMoveWithoutDescriptors() throws {
    _ = RuntimeDirectory.path
    let count = Counter()
    let port = try GRunLoop.MessagePort("org.example.moved") { _ in count.increment() }
    try GRunLoop.current.add(port, forMode: .default)
    GRunLoop.current.run(for: .zero)
    let thread = try GRunLoop.Thread(name: "other")
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.moved")
    try remote.send(1)
    let opened = useUpDescriptors()
    GRunLoop.current.run(for: .zero)
    for descriptor in opened { close(descriptor) }
    // This loop does not run any more, so only the other loop can accept.
    GRunLoop.current.remove(port, forMode: .default)
    try thread.loop.add(port, forMode: .default)
    say(count.wait(for: 1) ? "let in by the other loop" : "deaf")
    exit(0)
}

private func failure(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "none"
    } catch let error as GRunLoop.MessageRequestError {
        return error == .transportError(errno: EMFILE) ? "no descriptor" : "\(error)"
    } catch { return "\(error)" }
}

/// Makes requests in modes that never ran. Each mode needs two descriptors.
private func portsAskWithoutDescriptors() throws {
    _ = RuntimeDirectory.path
    let (ids, limit) = (Shared<[Int32]>([]), Duration.seconds(30))
    let thread = try GRunLoop.Thread(name: "receiver")
    let port = try GRunLoop.MessagePort(replying: "org.example.asked") { message in
        ids.update { $0.append(message.id) }
        return nil
    }
    try thread.loop.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.asked")
    func ask(_ id: Int32, _ mode: GRunLoop.Mode) -> String {
        let told = Shared<String?>(nil)
        Task {
            do {
                _ = try await remote.request(
                    id, sendTimeout: limit, receiveTimeout: limit, on: thread.loop, replyMode: mode)
                told.value = "none"
            } catch { told.value = failure { throw error } }
        }
        _ = told.wait { $0 != nil }
        return told.value ?? "not told"
    }
    // The first task of a process needs descriptors as well.
    say("before: \(ask(0, .default))")
    var opened: [Int32] = []
    func leave(_ count: Int) {
        opened += useUpDescriptors()
        for _ in 0..<count { close(opened.removeLast()) }
    }
    for left in 0...1 {
        leave(left)
        let error = failure {
            _ = try remote.request(1, sendTimeout: limit, receiveTimeout: limit, replyMode: .init("thread\(left)"))
        }
        say("\(left) left, a thread: \(error)")
    }
    leave(0)
    say("a task: \(ask(2, "task"))")
    let error = failure {
        _ = try remote.startRequest(
            3, [], descriptors: [], sendTimeout: limit, receiveTimeout: limit, on: thread.loop, replyMode: "C"
        ) { _ in }
    }
    say("nobody who waits: \(error)")
    for descriptor in opened { close(descriptor) }
    _ = try remote.request(4, sendTimeout: limit, receiveTimeout: limit, replyMode: "thread0")
    say("received: \(ids.value)")
    exit(0)
}

/// Sends to a full queue in modes that never ran.
private func portsSendWithoutDescriptors() throws {
    _ = RuntimeDirectory.path
    let (loop, count) = (GRunLoop.current, Counter())
    let port = try GRunLoop.MessagePort("org.example.deaf") { _ in count.increment() }
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.deaf")
    var sent = 0
    while (try? remote.send(0)) != nil { sent += 1 }
    loop.run(for: .zero)
    var opened = useUpDescriptors()
    for left in 0...1 {
        if left > 0 { close(opened.removeLast()) }
        let start = GRunLoop.now
        let error = failure { try remote.send(1, sendTimeout: .seconds(30), mode: .init("room\(left)")) }
        say("\(left) left: \(error), \(GRunLoop.now - start < .seconds(20) ? "at once" : "late")")
    }
    for descriptor in opened { close(descriptor) }
    try loop.add(port, forMode: .default)
    while count.value < sent { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    loop.run(for: .milliseconds(50))
    say(count.value == sent ? "those sent came" : "\(count.value - sent) more came")
    exit(0)
}

/// A message of more than 64 KiB needs a memory file. Either no descriptor is left, or the file cannot grow.
private func portsSendWithoutMemory() throws {
    _ = RuntimeDirectory.path
    let (loop, ids) = (GRunLoop.current, Shared<[Int32]>([]))
    let port = try GRunLoop.MessagePort("org.example.large") { message in
        ids.update { $0.append(message.data.count == 100_000 ? message.id : -1) }
    }
    try loop.add(port, forMode: .default)
    let remote = try GRunLoop.RemoteMessagePort.lookUp("org.example.large")
    let large = GRunLoop.MessageData([UInt8](repeating: 7, count: 100_000))
    func receive(_ count: Int) {
        while ids.value.count < count { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    }
    try remote.send(0, large)
    receive(1)
    let opened = useUpDescriptors()
    say("no descriptor left: \(failure { try remote.send(1, large) })")
    for descriptor in opened { close(descriptor) }

    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    let former = limit.rlim_cur
    limit.rlim_cur = 4096
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    let before = openDescriptorCount()
    let error = failure { try remote.send(2, large) }
    let isEFBIG = error == "\(GRunLoop.MessageRequestError.transportError(errno: EFBIG))"
    say("no room: \(isEFBIG ? "EFBIG" : error), \(openDescriptorCount() - before) descriptors more")
    limit.rlim_cur = former
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)

    try remote.send(3, large)
    receive(2)
    say("received: \(ids.value)")
    exit(0)
}

// MARK: Too many senders

private func portsCrowded() throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur >= 9000 else {
        say("too few descriptors")
        exit(0)
    }
    let path = RuntimeDirectory.path
    let loop = GRunLoop.current
    let port = try GRunLoop.MessagePort("org.example.crowded") { _ in }
    try loop.add(port, forMode: .default)
    let socket = try Directory.socket(in: path + "/grun-ports")
    func come(_ count: Int) -> [Int32] {
        let connections = (0..<count).compactMap { _ in connect(socket) }
        // One pass accepts a limited number of connections.
        loop.run(for: .zero)
        return connections
    }
    func isTurnedAway(_ connection: Int32) -> Bool {
        var descriptor = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }
    let (connections, messages) = capturingLog { (0..<256).flatMap { _ in come(16) } }
    say("\(connections.filter { !isTurnedAway($0) }.count) let in: \(messages.joined())")
    say("one more: \(isTurnedAway(come(1)[0]) ? "turned away" : "let in")")
    close(connections[0])
    loop.run(for: .zero)
    let last = capturingLog { come(1)[0] }
    say("when one has gone: \(isTurnedAway(last.result) ? "turned away" : "let in"), \(last.messages.count) messages")
    exit(0)
}
