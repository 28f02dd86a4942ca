// SPDX-License-Identifier: Apache-2.0
// Runs the models in child processes, and shortens a program that fails.

import Glibc

struct Runner {
    let seed: UInt64
    /// How many operations each model has.
    let operations: Int

    private struct Running {
        let model: any Model.Type
        let seedFile: Int32
    }

    /// Runs the models, several at a time. Returns whether all of them held.
    func run(_ models: [any Model.Type], atATime most: Int) -> Bool {
        var waiting = models[...]
        var running: [pid_t: Running] = [:]
        var failed: [(model: any Model.Type, seed: UInt64)] = []
        while !waiting.isEmpty || !running.isEmpty {
            while running.count < most, let model = waiting.popFirst() {
                let seedFile = Self.makeSeedFile()
                running[start(["--child", model.name, "\(seed)", "\(operations)"], seedFile)] =
                    Running(model: model, seedFile: seedFile)
            }
            let (process, status) = Self.waitForAny()
            guard let ended = running.removeValue(forKey: process) else { continue }
            var failedSeed: UInt64 = 0
            withUnsafeMutableBytes(of: &failedSeed) { _ = pread(ended.seedFile, $0.baseAddress, $0.count, 0) }
            close(ended.seedFile)
            if status == 0 {
                say("\(ended.model.name): \(operations) operations from seed \(seed): ok")
            } else {
                say("\(ended.model.name): seed \(failedSeed) fails")
                failed.append((ended.model, failedSeed))
            }
        }
        for (model, seed) in failed { tell(of: model, seed) }
        return failed.isEmpty
    }

    /// Prints the shortest program found that fails.
    private func tell(of model: any Model.Type, _ seed: UInt64) {
        let all = Array(0..<model.length)
        guard fails(model, seed, all) else {
            return say("\(model.name): seed \(seed) fails only behind other programs, or not each time")
        }
        let shortest = shorten(all) { fails(model, seed, $0) }
        let list = shortest.map(String.init).joined(separator: ",")
        say("\(model.name): seed \(seed), \(shortest.count) of \(all.count) operations:")
        let process = start(["--replay", "--tell", model.name, "\(seed)", list], -1)
        _ = Self.wait(for: process)
        say("again: grun-models --replay --tell \(model.name) \(seed) \(list)")
    }

    private func fails(_ model: any Model.Type, _ seed: UInt64, _ operations: [Int]) -> Bool {
        let list = operations.map(String.init).joined(separator: ",")
        return Self.wait(for: start(["--replay", model.name, "\(seed)", list], -1, isQuiet: true)) != 0
    }

    /// Leaves out operations, in ever smaller groups, as long as the rest fails.
    private func shorten(_ operations: [Int], _ fails: ([Int]) -> Bool) -> [Int] {
        var shortest = operations
        var group = operations.count / 2
        // A program that hangs takes long to fail.
        let end = time(nil) + 60
        while group > 0 {
            var start = 0
            var isShorter = false
            while start < shortest.count, time(nil) < end {
                let rest = Array(shortest[..<start] + shortest[Swift.min(start + group, shortest.count)...])
                if fails(rest) {
                    shortest = rest
                    isShorter = true
                } else {
                    start += group
                }
            }
            if group > 1 || !isShorter || time(nil) >= end { group /= 2 }
        }
        return shortest
    }

    // MARK: Processes

    /// A file without a name, for the seed of the program that a child runs.
    private static func makeSeedFile() -> Int32 {
        var path = Array("/tmp/grun-models-XXXXXX".utf8CString)
        let file = mkstemp(&path)
        guard file >= 0 else { fatalError("mkstemp: \(String(cString: strerror(errno)))") }
        unlink(path)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        return file
    }

    private func start(_ arguments: [String], _ seedFile: Int32, isQuiet: Bool = false) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if seedFile >= 0 { posix_spawn_file_actions_adddup2(&actions, seedFile, Child.seedDescriptor) }
        if isQuiet {
            for descriptor in 1...2 {
                posix_spawn_file_actions_addopen(&actions, Int32(descriptor), "/dev/null", O_WRONLY, 0)
            }
        }
        var pointers: [UnsafeMutablePointer<CChar>?] = (["grun-models"] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var process: pid_t = 0
        let problem = posix_spawn(&process, "/proc/self/exe", &actions, nil, &pointers, environ)
        guard problem == 0 else { fatalError("posix_spawn: \(String(cString: strerror(problem)))") }
        return process
    }

    private static func waitForAny() -> (process: pid_t, status: Int32) {
        var status: Int32 = 0
        let process = waitpid(-1, &status, 0)
        guard process > 0 else { fatalError("waitpid: \(String(cString: strerror(errno)))") }
        return (process, status)
    }

    private static func wait(for wanted: pid_t) -> Int32 {
        while true {
            let (process, status) = waitForAny()
            if process == wanted { return status }
        }
    }
}
