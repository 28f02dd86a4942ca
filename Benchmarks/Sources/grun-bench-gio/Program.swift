// SPDX-License-Identifier: Apache-2.0
// GIO awaited in Swift beside the same with callbacks of C, alternately in one process, on the same thread.
//
//   grun-bench-gio [ROUNDS [FOLDER]]
//
// ROUNDS is a factor: 1 takes about 20 s. FOLDER gets a file of 1 GiB, which is deleted at the end. It must not be on
// tmpfs, which cannot be read without suspending the task.

import Glibc

@main struct Program {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard words.count <= 2, let rounds = words.isEmpty ? 1 : Int(words[1]), rounds > 0 else {
            print("usage: grun-bench-gio [ROUNDS [FOLDER]]")
            exit(2)
        }
        let folder = words.count == 2 ? words[2] : "."
        Task.detached {
            do {
                print("case              C             Swift         ratio  goal")
                for measure in [measureTasks, measureMessages] { print(try await measure(rounds).row) }
                print(try await measureFile(rounds, folder).row)
                exit(0)
            } catch {
                print("grun-bench-gio: \(error)")
                exit(1)
            }
        }
        while true { pause() }
    }
}
