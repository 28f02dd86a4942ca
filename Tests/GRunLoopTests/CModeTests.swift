// SPDX-License-Identifier: Apache-2.0
// Tests how the C interface reads the name of a mode.

import CGRunHeaders
import GRunLoop
import GRunLoopC
import Glibc
import TestSupport
import Testing

@Suite("Names of modes, by C") struct CModeTests {
    @Test("item 166: C reads a name up to its end, whatever its address, and no further; similar names are other modes")
    func names() async throws {
        try await onFreshThread { loop in
            let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in }
            loop.add(timer, forMode: .default)
            loop.add(timer, forMode: .common)
            let pointers = [loop as AnyObject, timer].map { OpaquePointer(Unmanaged.passUnretained($0).toOpaque()) }
            let size = sysconf(Int32(_SC_PAGESIZE))
            let pages = try #require(mmap(nil, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            defer { munmap(pages, 2 * size) }
            // Reads past the end of the name crash.
            #expect(mprotect(pages + size, size, PROT_NONE) == 0)
            func contains(_ name: String) -> Bool {
                let bytes = Array(name.utf8CString)
                let place = (pages + size - bytes.count).assumingMemoryBound(to: CChar.self)
                place.update(from: bytes, count: bytes.count)
                return grun_loop_contains_timer(pointers[0], pointers[1], place) != 0
            }
            for name in [GRUN_MODE_DEFAULT, GRUN_MODE_COMMON] {
                #expect(contains(name))
                for other in [name + "s", String(name.dropLast()), name.lowercased(), name.dropLast() + "x", "k"] {
                    #expect(!contains(other), "\(other)")
                }
            }
        }
    }
}
