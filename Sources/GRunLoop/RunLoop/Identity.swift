// SPDX-License-Identifier: Apache-2.0
// Whether a reference that is not counted is to a certain object.

/// Between two references that are counted this would retain and release.
@inline(__always) package func === <Instance>(reference: Unmanaged<Instance>?, object: Instance) -> Bool {
    reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
}
