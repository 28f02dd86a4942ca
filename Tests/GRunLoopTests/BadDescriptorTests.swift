// SPDX-License-Identifier: Apache-2.0
// Bad descriptors cause errors that name the fault. The loop and its other items do not change.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct BadDescriptorTests {
    /// Tries to add a source for the descriptor to a mode and to the common modes. Returns the error.
    private func errorOfAdding(_ descriptor: Int32, to loop: GRunLoop) -> GRunLoop.SystemError? {
        let source = GRunLoop.DescriptorSource(descriptor: descriptor) { _, _ in }
        var errors: [GRunLoop.SystemError] = []
        for mode: GRunLoop.Mode in [.default, .common, "private"] {
            do throws(GRunLoop.SystemError) {
                try loop.add(source, forMode: mode)
            } catch {
                errors.append(error)
            }
            #expect(!loop.contains(source, forMode: mode))
            #expect(!loop.contains(source, forMode: .default))
        }
        #expect(source.isValid)
        #expect(errors.count == 3 && Set(errors).count == 1)
        return errors.first
    }

    @Test("a negative descriptor causes an error that names it")
    func negative() async throws {
        try await onFreshThread { loop in
            for number in [-1, Int32.min] {
                #expect(errorOfAdding(number, to: loop) == .notOpen(descriptor: number))
            }
            let error = GRunLoop.SystemError.notOpen(descriptor: -1)
            #expect(error.description.contains("descriptor -1 is not open"))
            #expect(loop.run(mode: .default) == .finished)
        }
    }

    @Test("a closed descriptor causes an error that names it")
    func closed() async throws {
        try await onFreshThread { loop in
            let number = copyWithHighNumber(0)
            close(number)
            #expect(errorOfAdding(number, to: loop) == .notOpen(descriptor: number))
            #expect(loop.run(mode: .default) == .finished)
        }
    }

    @Test("a regular file, a directory or /dev/null causes an error: it is always ready")
    func regularFile() async throws {
        try await onFreshThread { loop in
            let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
            let directory = open("/", O_RDONLY | O_CLOEXEC)
            let device = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer {
                close(file)
                close(directory)
                close(device)
            }
            for number in [file, directory, device] {
                let error = try #require(errorOfAdding(number, to: loop))
                #expect(error == .notPollable(descriptor: number))
                #expect(
                    error.description.contains("cannot watch descriptor \(number), because it is always ready"))
            }
        }
    }

    @Test(
        "a mode does not become common if it cannot watch every common descriptor source; then no item joins it"
    )
    func commonModeWithBadDescriptor() async throws {
        try await onFreshThread { loop in
            let good = Pipe()
            let other = Pipe()
            let number = copyWithHighNumber(other.readEnd)
            let scheduled = Recorder()
            let source = GRunLoop.DescriptorSource(descriptor: good.readEnd) { _, _ in }
            try loop.add(source, forMode: .common)
            try loop.add(source, forMode: "third")
            let bad = GRunLoop.DescriptorSource(descriptor: number) { _, _ in }
            try loop.add(bad, forMode: .common)
            loop.add(GRunLoop.Source(schedule: { _, mode in scheduled(mode.rawValue) }, perform: {}), forMode: .common)
            close(number)
            _ = scheduled.take()
            #expect(throws: GRunLoop.SystemError.self) { try loop.addCommonMode("second") }
            #expect(scheduled.lines == [])
            #expect(loop.run(mode: "second") == .finished)
            #expect(throws: GRunLoop.SystemError.self) { try loop.addCommonMode("third") }
            #expect(loop.contains(source, forMode: "third"), "it was there before")
            // Without the bad source, the mode becomes common.
            _ = capturingLog { bad.invalidate() }
            try loop.addCommonMode("second")
            #expect(scheduled.lines == ["second"])
        }
    }

    @Test("a source that asks for no condition gets only hang-ups and errors")
    func noConditions() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            var pipe: Pipe? = Pipe()
            let end = dup(pipe?.readEnd ?? -1)
            defer { close(end) }
            let source = GRunLoop.DescriptorSource(descriptor: end, conditions: []) { source, ready in
                trace("\(ready)")
                source.invalidate()
            }
            loop.keepAlive()
            try loop.add(source, forMode: .default)
            pipe?.send()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == [])
            pipe = nil
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["hangUp"])
        }
    }

    @Test(
        "at the descriptor limit GRunLoop.current works, other calls report the limit, and later everything works"
    )
    func limit() {
        let child = runChild("descriptor-limit")
        #expect(
            child.output == [
                "a thread got its loop", "adding a descriptor source: limitReached", "a source and a timer were added",
                "run: finished, nothing ran", "private run: finished, nothing ran",
                "a thread with a loop: limitReached",
                "now it works: source, timer, descriptor",
                "main loop: finished", "now it works: main queue, main timer",
            ])
        #expect(child.errorCount(of: "was not run, because the loop needs a descriptor to sleep") == 3)
        #expect(child.status == 0)
    }

    @Test("at the descriptor limit a host serves timers and descriptors only when it iterates, and logs that once")
    func limitUnderAHost() {
        let child = runChild("descriptor-limit-under-a-host")
        #expect(
            child.output == [
                "at the limit: descriptor, timer", "once more: descriptor, timer", "afterwards: timer, descriptor",
            ])
        #expect(child.errorCount(of: "no descriptor is left, so timers and descriptor sources wait while") == 1)
        #expect(child.status == 0)
    }
}
