// SPDX-License-Identifier: Apache-2.0
// Compares an unmanaged reference with an object.

/// Returns whether the reference refers to this object. Comparing two strong references would retain and release their
/// objects.
package func === <Instance>(reference: Unmanaged<Instance>?, object: Instance) -> Bool {
    reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
}
