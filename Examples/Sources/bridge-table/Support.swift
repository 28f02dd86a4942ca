// SPDX-License-Identifier: Apache-2.0
// Small things that several rows need.

import Dispatch

/// Rounds microseconds as a table shows them: in microseconds below 1 ms.
func text(microseconds: Double) -> String {
    microseconds < 1000 ? "\(Int(microseconds.rounded())) us" : "\(Int((microseconds / 1000).rounded())) ms"
}

/// Keeps the calling thread busy.
func work(microseconds: UInt64) {
    let end = DispatchTime.now().uptimeNanoseconds + microseconds * 1000
    while DispatchTime.now().uptimeNanoseconds < end {}
}
