// SPDX-License-Identifier: Apache-2.0
// Stage 10 for ports: handles one message of one port.

import CGRun

extension GRunLoop {
    /// Handles a message of the next port in turn. Returns false if no port has a message. For example, a nested run in
    /// an observer of stage 9 may have taken the last message.
    func servicePortLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        guard let port = mode.ports.next else { return false }
        return port._withUnsafeGuaranteedRef { content in
            var taken = PortTaken()
            guard content.takeLocked(&taken) else { return false }
            unlock(toCall: port, in: frame)
            if taken.hasAdmitted { content.inbox.resumeSenders() }
            callOutToPort(content, &taken, of: self)
            lock.lock()
            return true
        }
    }
}

@inline(never) func callOutToPort(_ port: GRunLoop.Port, _ taken: inout PortTaken, of loop: GRunLoop) {
    loop.tell(CalloutMark(.port, port), closure: ClosureSymbol.of(port.handler))
    loop.handledSources &+= 1
    port.deliver(&taken)
    cgrun_keep_frame()
}
