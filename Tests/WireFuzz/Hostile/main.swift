// SPDX-License-Identifier: Apache-2.0
// Honest clients beside hostile peers of message ports: 50 connections of each kind to a port, and 50 services of each
// kind that a client asks. An honest client must be served in time, and the attacked process must stay within the
// limits of SECURITY.md. Prints a table of the figures. The status is 1 if a figure was over its limit.

import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

private func refuse() -> Never {
    let kinds = Visitor.allCases.map(\.rawValue) + FalseService.allCases.map(\.rawValue)
    printToStandardError(
        "usage: grun-wire-hostile SECONDS [KIND]...     of \(kinds.joined(separator: ", "))\n")
    exit(2)
}

private let words = Array(CommandLine.arguments.dropFirst())
private let served = "org.example.served"

// MARK: Roles

if let role = words.first, role.hasPrefix("--") {
    wire_end_with_parent()
    do {
        switch (role, words.count) {
        case ("--serve", 2): try serve(words[1])
        case ("--visit", 3): if let visitor = Visitor(rawValue: words[1]) { visit(visitor, words[2]) }
        case ("--serve-falsely", 2): if let service = FalseService(rawValue: words[1]) { serveFalsely(service) }
        case ("--ask", 3): if let seconds = Double(words[2]) { try askFalseServices(words[1], for: seconds) }
        default: refuse()
        }
    } catch { printToStandardError("grun-wire-hostile \(role): \(error)\n") }
    exit(1)
}

// MARK: The table

guard let seconds = words.first.flatMap({ Double($0) }), (1...3600).contains(seconds) else { refuse() }
private let chosen = words.dropFirst()
private let visitors = Visitor.allCases.filter { chosen.isEmpty || chosen.contains($0.rawValue) }
private let services = FalseService.allCases.filter { chosen.isEmpty || chosen.contains($0.rawValue) }
guard chosen.isEmpty || visitors.count + services.count == chosen.count else { refuse() }
private let watchdog = Watchdog(.seconds(4 * seconds + 120), "grun-wire-hostile: it has not come to an end")
/// The seconds of measurement for each kind; to start and end the processes takes the rest.
private let span = seconds / Double(visitors.count + services.count) * 0.6
_ = RuntimeDirectory.path
private var findings = 0

say(Row.header)
for visitor in visitors { run(visitor.rawValue) { () throws(Finding) in try attack(by: visitor) } }
for service in services { run(service.rawValue) { () throws(Finding) in try attack(by: service) } }
watchdog.disarm()
guard findings == 0 else {
    say("hostile peers: \(findings) findings")
    exit(1)
}
say("hostile peers: \(visitors.count + services.count) kinds, no finding")

/// A kind is measured again if other processes may be the cause of what was found.
@MainActor private func run(_ kind: String, _ body: () throws(Finding) -> Row) {
    do throws(Finding) {
        var row = try body()
        for _ in 0..<2 where row.excess.isEmpty && !row.disturbances.isEmpty { row = try body() }
        say(row.line)
        report(kind, row.excess + row.disturbances)
    } catch { report(kind, [error.text]) }
}

@MainActor private func report(_ kind: String, _ texts: [String]) {
    for text in texts { say("  FINDING \(kind): \(text)") }
    findings += texts.count
}

private func lookUp(_ name: String) throws(Finding) -> GRunLoop.RemoteMessagePort {
    do throws(GRunLoop.MessagePortError) { return try .lookUp(name) } catch { throw Finding(text: "\(error)") }
}

/// Makes what the server makes once, so that it does not count for the attack.
private func warmUp(_ remote: GRunLoop.RemoteMessagePort) throws(Finding) {
    guard let worst = measure(remote, for: 0.05).max(), worst < honestLimit else {
        throw Finding(text: "an honest client is not served without an attack")
    }
}

private func more(_ most: Holdings, than before: Holdings, ownMemory: Int) -> Holdings {
    var more = most.combined(before, -)
    more.shared = max(0, more.shared - ownMemory >> 10)
    return more
}

@MainActor private func attack(by visitor: Visitor) throws(Finding) -> Row {
    var row = Row(kind: visitor.rawValue)
    if visitor == .keptMemory { row.mostMappings += 8192 }
    let server = try Role(["--serve", served])
    let remote = try lookUp(served)
    defer { remote.invalidate() }
    try warmUp(remote)
    let before = Holdings(of: server.process)
    let sampler = Sampler(server.process)
    let peers = try Role(["--visit", visitor.rawValue, socketPath(of: served)])
    row.took = measure(remote, for: span)
    _ = peers.end()
    row.tookAfter = measure(remote, for: span / 4)
    row.most = more(sampler.end(), than: before, ownMemory: visitor.ownMemory)
    let reply = try? remote.request(
        Request.depth.rawValue, sendTimeout: honestLimit, receiveTimeout: honestLimit)
    row.deepest = reply?.data.withUnsafeBytes { $0.count == 8 ? $0.loadUnaligned(as: Int.self) : 0 } ?? 0
    row.end = server.end()
    return row
}

@MainActor private func attack(by service: FalseService) throws(Finding) -> Row {
    var row = Row(kind: service.rawValue)
    let server = try Role(["--serve", served])
    let remote = try lookUp(served)
    defer { remote.invalidate() }
    try warmUp(remote)
    let shared = Holdings(of: getpid()).shared
    let services = try Role(["--serve-falsely", service.rawValue])
    let client = try Role(["--ask", served, "\(span)"])
    var before = Holdings(of: client.process)
    before.shared = shared
    let sampler = Sampler(client.process)
    func times() -> [Duration] {
        (client.readLine() ?? "").split(separator: " ").compactMap { Int($0) }.map { .microseconds($0) }
    }
    (row.took, row.overdue) = (times(), times())
    row.most = more(sampler.end(), than: before, ownMemory: service.ownMemory)
    _ = services.end()
    _ = server.end()
    return row
}
