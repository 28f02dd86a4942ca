// SPDX-License-Identifier: Apache-2.0
// Whether a reference that is not counted is to a certain object.

/// Comparing two counted references would retain and release them.
package func === <Instance>(reference: Unmanaged<Instance>?, object: Instance) -> Bool {
    reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
}
