// SPDX-License-Identifier: Apache-2.0
// The window checks itself: a dialog that is cancelled, a copy with progress, a copy that is cancelled.

import CGtk4
import GRunLoop
import GRunLoopGIO
import Glibc

/// Returns whether everything was as it must be.
@MainActor func check(_ copier: Copier) async -> Bool {
    let watchdog = GRunLoop.Timer(interval: .seconds(30), repeats: false) { _ in
        print("  FAILED the check has not ended in 30 s")
        _exit(2)
    }
    GRunLoop.main.add(watchdog, forMode: .common)
    defer { watchdog.invalidate() }
    var holds = true
    func expect(_ condition: Bool, _ what: String) {
        print("  \(condition ? "ok    " : "FAILED") \(what)")
        holds = holds && condition
    }

    copier.pressChoose()
    await wait { windows() == 2 }
    expect(copier.text == "Choosing…", "the dialog is open, and the window is served")
    copier.pressCancel()
    await copier.work?.value
    expect(copier.text == "Cancelled", "cancelling the task closes the dialog")
    await wait { windows() == 1 }

    let folder = "/tmp/gtk4-copier-\(getpid())"
    mkdir(folder, 0o700)
    defer { for name in ["/from", "/to", ""] { remove(folder + name) } }
    do {
        let (from, to) = (try GIO.File(path: folder + "/from"), try GIO.File(path: folder + "/to"))
        try await from.replaceContents([UInt8](repeating: 1, count: 64 << 20))
        copier.start { await copier.copy(from, to: to) }
        await copier.work?.value
        expect(copier.text == "Copied from" && copier.fraction == 1, "64 MiB were copied, and the bar is full")
        expect(try await to.contents() == from.contents(), "the copy is equal")

        // A sparse file, whose copy takes longer than the next lines.
        truncate(folder + "/from", 4 << 30)
        copier.start { await copier.copy(from, to: to) }
        await wait { copier.text == "Copying from…" }
        copier.pressCancel()
        await copier.work?.value
        expect(copier.text == "Cancelled", "cancelling the task ends a copy")
    } catch {
        expect(false, "\(error)")
    }
    return holds
}

/// Waits until a condition holds, and serves the loop meanwhile.
@MainActor private func wait(until condition: () -> Bool) async {
    while !condition() { try? await GRunLoop.main.sleep(for: .milliseconds(5)) }
}

@MainActor private func windows() -> Int { Int(g_list_model_get_n_items(gtk_window_get_toplevels())) }
