// SPDX-License-Identifier: Apache-2.0
// What all items of a loop have in common: they can be invalidated.

protocol Invalidatable: AnyObject, Sendable {
    /// Takes the item out of every mode, for good. Any thread.
    func invalidate()
}

extension GRunLoop.Source: Invalidatable {}
