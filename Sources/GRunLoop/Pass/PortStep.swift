// SPDX-License-Identifier: Apache-2.0
// Stage 10 for ports: one message of one port.

import CGRun

extension GRunLoop {
    /// 10. Returns whether a message was handled. The port may have left the mode since it was chosen.
    func servicePortLocked(_ chosen: ObjectIdentifier, _ frame: Frame, _ mode: ModeState) -> Bool {
        guard let port = mode.ports.ifReady(chosen) else { return false }
        port._withUnsafeGuaranteedRef { $0.beginTurnLocked() }
        unlock(toCall: port, in: frame)
        let handled = port._withUnsafeGuaranteedRef { callOutToPort($0, of: self) }
        lock.lock()
        return handled
    }
}

@inline(never) func callOutToPort(_ port: GRunLoop.Port, of loop: GRunLoop) -> Bool {
    let handled = port.deliverNext { loop.trace(.port(port)) }
    cgrun_keep_frame()
    return handled
}
