// SPDX-License-Identifier: Apache-2.0
// An item becomes a common item, and ceases to be one; what all kinds of items share.

extension GRunLoop {
    /// Makes an item a common one; answers the modes that it joins.
    func becomeCommon(_ item: Item, _ object: AnyObject) -> [Mode] {
        lock.withLock {
            guard !isDead else { return [] }
            commonItems.insert(item, for: object)
            return commonModes.sorted { $0.rawValue < $1.rawValue }
        }
    }

    /// Ends that; answers the modes that the item leaves. An item that is in common modes but is no common item stays (item 162).
    func ceaseCommon(_ object: AnyObject) -> [Mode] {
        let (names, _) = lock.withLock { () -> ([Mode], Item?) in
            guard let item = commonItems.remove(object) else { return ([], nil) }
            return (commonModes.sorted { $0.rawValue < $1.rawValue }, item)
        }
        return names
    }

    func forgetCommonItem(_ source: Source) {
        _ = lock.withLock { commonItems.remove(source) }
    }

    func refuseIfValid(_ isValid: Bool, _ kind: StaticString) {
        if isValid { refuseOtherLoop(kind) }
    }

    func refuseOtherLoop(_ kind: StaticString) {
        Log.critical(
            "GRunLoop.add: this \(kind) is in another run loop; remove it from every mode there, or invalidate it, before "
                + "it is added here")
    }
}
