// SPDX-License-Identifier: Apache-2.0
// Storms of cancellation: operations of each kind are cancelled in flight, and must leave nothing.
//
//   grun-gio-storms [ROUNDS [OPERATIONS [KIND]]]
//
// Each kind has a line with the results. The status is 1 if something is left. Storms of processes have a tenth of the
// operations. The heap is compared from the third round on. Its environment must be G_SLICE=always-malloc and
// GLIBC_TUNABLES=glibc.malloc.tcache_count=0, because memory in a cache counts as used: see scripts/test-gio.

import GRunLoop
import Glibc
import TestSupport

@main struct Program {
    /// Without a task of the main thread, valgrind can run the program.
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        let numbers = words.prefix(2).compactMap { Int($0) }
        guard numbers.count == min(words.count, 2), numbers.allSatisfy({ $0 > 0 }), words.count <= 3 else {
            fail("usage: grun-gio-storms [ROUNDS [OPERATIONS [KIND]]]", status: 2)
        }
        let (rounds, count) = (numbers.first ?? 4, numbers.count > 1 ? numbers[1] : 1000)
        let name = words.dropFirst(2).first ?? ""
        raiseDescriptorLimit()
        Task.detached {
            do {
                try await Sea("captain").run { try await storms(rounds, count, name, on: $0) }
                exit(0)
            } catch {
                fail("grun-gio-storms: \(error)", status: 1)
            }
        }
        while true { pause() }
    }

    /// - Parameter captain: cancels and waits. It has a loop of its own, because blocking a thread of Swift's pool
    ///   makes libdispatch open descriptors and start threads.
    private static func storms(_ rounds: Int, _ count: Int, _ name: String, on captain: isolated Sea) async throws {
        let (sea, port, folder) = (try Sea("sea"), try Sea("port"), try Folder())
        try await Task.sleep(for: .milliseconds(1))
        await sea.fillCaches()
        for maker in KindMaker.all where name.isEmpty || maker.name.contains(name) {
            let kind = try await maker.make(KindMaker.Setting(sea: sea, port: port, folder: folder, count: count))
            do {
                say("\(kind.name): \(try await Storm(sea: sea, kind: kind).run(rounds: rounds, on: captain))")
            } catch let finding as Finding {
                fail("\(kind.name): \(finding.text)", status: 1)
            }
            try await sea.run(kind.close)
        }
        await sea.thread.stopAndWait()
        await port.thread.stopAndWait()
        folder.delete()
    }

    /// 1,000 pipes and 1,000 sockets are open at the same time.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 10_000)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

private func fail(_ text: String, status: Int32) -> Never {
    printToStandardError(text + "\n")
    exit(status)
}
