// SPDX-License-Identifier: Apache-2.0
// Compares an unmanaged reference with an object.

/// Returns whether the reference is to this object. Comparing two strong references would retain and release them.
package func === <Instance>(reference: Unmanaged<Instance>?, object: Instance) -> Bool {
    reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
}
