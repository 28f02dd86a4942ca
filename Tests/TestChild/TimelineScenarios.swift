// SPDX-License-Identifier: Apache-2.0
// Timelines that are written at a program's end, and a full disk.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport

/// The environment asks for the timeline. The program forks, and exits inside a callout.
func timelineOfTheEnvironment() throws {
    setenv("GRUN_TIMELINE", "\(runtimeDirectory)/run-%p.json", 1)
    let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in work(for: .milliseconds(2)) }
    timer.label = "the planted timer"
    GRunLoop.main.add(timer, forMode: .default)
    GRunLoop.main.run(for: .milliseconds(5))
    let thread = startThread {
        let source = GRunLoop.Source {}
        source.label = "another thread's"
        GRunLoop.current.add(source, forMode: .default)
        source.signal()
        GRunLoop.current.run(for: .zero)
    }
    join(thread)
    let child = fork()
    if child == 0 { exit(3) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    GRunLoop.main.perform { exit(7) }
    GRunLoop.main.run(for: .zero)
}

/// A file size limit simulates a full disk.
func timelineOnAFullDisk() throws {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: 5000, rlim_max: 5000)
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    let timeline = GRunLoop.Timeline()
    timeline.start()
    for _ in 0..<1000 { GRunLoop.main.perform {} }
    GRunLoop.main.run(for: .zero)
    do throws(GRunLoop.SystemError) {
        try timeline.write(to: "\(runtimeDirectory)/x.html", as: .html)
        exit(1)
    } catch {
        exit(error == .failed(call: "write(2)", errno: EFBIG, path: "\(runtimeDirectory)/x.html") ? 0 : 2)
    }
}

/// A daemon often has a umask of 0.
func timelineWithoutUmask() throws {
    umask(0)
    try GRunLoop.Timeline().write(to: "\(runtimeDirectory)/x.html", as: .html)
}

private var runtimeDirectory: String { getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/" }
