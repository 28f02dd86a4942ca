// SPDX-License-Identifier: Apache-2.0
// The descriptors that Foundation's run loop waits for, from what Core Foundation says of it: no layout of a structure
// is known here, and the kernel is asked whether it is true.

import CGRunFoundation
import Glibc

struct GuestDescription {
    private let text: String

    /// Nil without memory.
    init?(of loop: UnsafeMutableRawPointer) {
        guard let text = cgrun_guest_copy_description(loop) else { return nil }
        defer { free(text) }
        self.text = String(cString: text)
    }

    /// The epoll of a mode; nil if there is none that watches the loop's wake-ups and the mode's timers.
    func epoll(of mode: String) -> Int32? {
        guard let wakeUp = number(after: "wakeup port = ", in: text[...]),
            let place = text.firstRange(of: "name = \(mode), port set = ")
        else { return nil }
        let rest = text[place.lowerBound...]
        guard let epoll = number(after: "port set = ", in: rest), let timer = number(after: "timer port = ", in: rest),
            cgrun_epoll_watches(epoll, wakeUp), cgrun_epoll_watches(epoll, timer)
        else { return nil }
        return epoll
    }

    /// "0x1f".
    private func number(after words: String, in text: Substring) -> Int32? {
        guard let place = text.firstRange(of: words) else { return nil }
        return Int32(text[place.upperBound...].dropFirst(2).prefix { $0.isHexDigit }, radix: 16)
    }
}
