// SPDX-License-Identifier: Apache-2.0
// What a program's environment asks for, without a change of the program.

import CGRun

extension GRunLoop {
    /// `GRUN_STALLS=200ms`: each loop is watched as long as it lives, and its stalls are logged.
    func inspectIfAsked() {
        guard let asked = Environment.stalls, OneCopy.other == nil else { return }
        guard let threshold = asked.span else {
            // Later: a handler of the program's may ask for the loop that is being made.
            return perform {
                Log.warning("GRUN_STALLS=\(asked.text): no stalls are logged; write it as 200ms or 0.5s")
            }
        }
        let watcher = StallWatcher(
            self, threshold: threshold, signal: StallWatcher.usualSignal, tell: StallMonitor.logger(of: self))
        // Nobody ends it but the end of the loop's thread.
        if watcher.start() != 0 { Log.warning("GRUN_STALLS: no thread can be started, so a loop is not watched") }
    }
}

private enum Environment {
    /// Nil: they are not asked for. Read once. The span is nil if it is none.
    static let stalls: (text: String, span: Nanoseconds?)? = {
        guard let text = cgrun_environment("GRUN_STALLS").map({ String(cString: $0) }), !text.isEmpty else {
            return nil
        }
        return (String(text.prefix(40)), span(text))
    }()

    /// "200ms", "0.5s", or "200", which is milliseconds. Nil for what is none of these or not positive.
    static func span(_ text: String) -> Nanoseconds? {
        let isSeconds = text.hasSuffix("s") && !text.hasSuffix("ms")
        let digits = text.hasSuffix("ms") ? text.dropLast(2) : isSeconds ? text.dropLast() : text[...]
        guard let number = Double(digits), number > 0, number.isFinite else { return nil }
        return Nanoseconds(saturating: .seconds(min(number * (isSeconds ? 1 : 0.001), 1e9)))
    }
}
