// SPDX-License-Identifier: Apache-2.0
// What the items of a loop have in common for who only wants to end them.

protocol Invalidatable: AnyObject, Sendable {
    /// Takes it out of every mode, for good. Any thread.
    func invalidate()
}

extension GRunLoop.Source: Invalidatable {}
extension GRunLoop.DescriptorSource: Invalidatable {}
extension GRunLoop.Timer: Invalidatable {}
extension GRunLoop.Observer: Invalidatable {}
