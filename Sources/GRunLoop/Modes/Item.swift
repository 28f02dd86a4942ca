// SPDX-License-Identifier: Apache-2.0
// The protocol of items, and the functions that add and remove items.

extension GRunLoop {
    /// An object that can be added to the modes of a loop.
    ///
    /// Items are ``Source``, ``DescriptorSource``, ``SignalSource``, ``ChildSource``, ``Timer``, ``Observer``,
    /// ``IdleQueue``, ``Channel``, ``Port`` and the message ports.
    ///
    /// Your own type can be an item if it consists of items. The ``carryOut(_:of:forMode:)`` of your type passes each
    /// call to these parts.
    ///
    /// ```swift
    /// final class Heartbeat: GRunLoop.Item {
    ///     let timer: GRunLoop.Timer
    ///     // ...
    ///     var isValid: Bool { timer.isValid }
    ///     func invalidate() { timer.invalidate() }
    ///
    ///     func carryOut(
    ///         _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ///     ) -> Bool {
    ///         timer.carryOut(operation, of: loop, forMode: mode)
    ///     }
    /// }
    /// ```
    ///
    /// The modes retain the parts, but not the object that consists of them. Traces and stall reports show the parts,
    /// with the labels of the parts.
    ///
    /// Threads: any. The corresponding Core Foundation types are `CFRunLoopSource`, `CFRunLoopTimer` and
    /// `CFRunLoopObserver`.
    public protocol Item: AnyObject, Sendable {
        /// The error that ``GRunLoop/add(_:forMode:)-(Kind,_)`` throws; `Never` if the item can always be added.
        associatedtype AddError: Error = Never

        /// Whether the item is valid. False after ``invalidate()`` was called, after the item has ended by itself like
        /// a one-shot timer, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopSourceIsValid`,
        /// `CFRunLoopTimerIsValid` and `CFRunLoopObserverIsValid`.
        var isValid: Bool { get }

        /// The program's name for the item, for people who read diagnostics. Nil means no label.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        var label: String? { get set }

        /// Removes the item from every mode, permanently. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopSourceInvalidate`,
        /// `CFRunLoopTimerInvalidate` and `CFRunLoopObserverInvalidate`.
        func invalidate()

        /// Carries out a call of ``GRunLoop/add(_:forMode:)-(Kind,_)``,
        /// ``GRunLoop/remove(_:forMode:)-(GRunLoop.Item,_)`` or ``GRunLoop/contains(_:forMode:)-(GRunLoop.Item,_)``.
        /// Programs call those functions instead of this function.
        ///
        /// - Returns: for ``MembershipOperation/contains``, whether the item is in the mode. Otherwise the
        ///   result has no meaning.
        /// - Throws: an error only if the item cannot be added.
        ///
        /// Threads: any.
        @discardableResult func carryOut(
            _ operation: MembershipOperation, of loop: GRunLoop, forMode mode: Mode
        ) throws(AddError) -> Bool
    }

    /// An operation that an item carries out for a loop.
    public enum MembershipOperation: Sendable {
        /// Join the mode.
        case add
        /// Leave the mode.
        case remove
        /// Return whether the item is in the mode.
        case contains
    }

    /// Adds an item to a mode, or to all common modes.
    ///
    /// The call does nothing if the item is already in the mode or is invalid, or if the loop has ended. If the item is
    /// in another loop, the call is logged and does nothing; only a ``Source`` can be in several loops. If the item's
    /// closure belongs to an actor that does not live on this loop, the process ends with a message.
    ///
    /// A sleeping loop immediately notices a timer, a descriptor source, a port with messages or an idle queue with
    /// closures. The loop notices a ``Source`` or an ``Observer`` only when it wakes. For the `schedule` of a source,
    /// see ``Source``.
    ///
    /// The mode retains the item until the item is removed or invalidated, with two exceptions. A ``Channel`` is closed
    /// when the program releases it. If an item consists of other items, the mode retains only these parts.
    ///
    /// - Throws: the item's ``Item/AddError``. A ``DescriptorSource``, a ``SignalSource``, a ``ChildSource`` or a
    ///   message port throws a ``SystemError`` if its descriptor cannot be watched. In that case, an item that is added
    ///   to ``GRunLoop/Mode/common`` joins none of the common modes. Adding any other item of the library does not
    ///   throw.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopAddSource`, `CFRunLoopAddTimer` and
    /// `CFRunLoopAddObserver`.
    @inlinable public func add<Kind: Item>(_ item: Kind, forMode name: Mode) throws(Kind.AddError) {
        _ = try item.carryOut(.add, of: self, forMode: name)
    }

    /// Removes an item from a mode, or from all common modes. The item stays valid.
    ///
    /// The loop no longer calls the item in these modes. A callout that is under way continues. If the loop is
    /// notifying observers during the call, it may still call a removed observer. Items keep their state: timers keep
    /// their dates, sources their signal, ports their messages and idle queues their closures. The `cancel` of a
    /// ``Source`` is called on the calling thread, once for each mode that the source leaves.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopRemoveSource`, `CFRunLoopRemoveTimer`
    /// and `CFRunLoopRemoveObserver`.
    @inlinable public func remove(_ item: some Item, forMode name: Mode) {
        // Only `.add` throws an error.
        _ = try? item.carryOut(.remove, of: self, forMode: name)
    }

    /// Returns whether an item is in the mode. For ``Mode/common``, returns true if the item was added to
    /// ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopContainsSource`,
    /// `CFRunLoopContainsTimer` and `CFRunLoopContainsObserver`.
    @inlinable public func contains(_ item: some Item, forMode name: Mode) -> Bool {
        // Only `.add` throws an error.
        (try? item.carryOut(.contains, of: self, forMode: name)) ?? false
    }
}

extension GRunLoop.Item {
    /// The program's name for the item, as shown in its `description`, in a ``GRunLoop/Trace`` and in reports of a
    /// stall monitor.
    ///
    /// The property is nil at first, which means that the item has no label. Any text is a label, even the empty text.
    /// The text is kept whole, but only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "\(type(of: self)).label") }
        set { Labels.set(newValue, of: self, "\(type(of: self)).label") }
    }
}
