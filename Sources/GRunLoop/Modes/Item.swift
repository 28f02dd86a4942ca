// SPDX-License-Identifier: Apache-2.0
// The protocol of everything that can be added to the modes of a loop, and the functions that add and remove items.

extension GRunLoop {
    /// An object that can be added to the modes of a loop.
    ///
    /// Items are ``Source``, ``DescriptorSource``, ``SignalSource``, ``ChildSource``, ``Timer``, ``Observer``,
    /// ``IdleQueue``, ``Channel``, ``Port`` and the message ports.
    ///
    /// A type of your own is an item if it is made of items: its ``carryOut(_:of:forMode:)`` passes each call on to its
    /// parts.
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
    /// The modes keep the parts alive, and not the object that is made of them. A trace and a stall report show the
    /// parts, with their own labels.
    ///
    /// Threads: any. The corresponding Core Foundation types are `CFRunLoopSource`, `CFRunLoopTimer` and
    /// `CFRunLoopObserver`.
    public protocol Item: AnyObject, Sendable {
        /// The error of ``GRunLoop/add(_:forMode:)-(Kind,_)``; `Never` for an item that can always be added.
        associatedtype AddError: Error = Never

        /// Whether the item is valid. False once ``invalidate()`` was called, and in a forked child.
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
        /// ``GRunLoop/remove(_:forMode:)-(GRunLoop.Item,_)`` or ``GRunLoop/contains(_:forMode:)-(GRunLoop.Item,_)``,
        /// which you call instead.
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

    /// The operation that an item is asked to carry out.
    public enum MembershipOperation: Sendable {
        /// Join the mode.
        case add
        /// Leave the mode.
        case remove
        /// Tell whether the item is in the mode.
        case contains
    }

    /// Adds an item to a mode, or to all common modes.
    ///
    /// An item that is in the mode already, or invalid, is not added. An item that is in another loop is not added
    /// either, and that is logged; only a ``Source`` can be in several loops. If the item's closure belongs to an actor
    /// that lives on another loop, the process ends with a message. A loop that has ended takes no item.
    ///
    /// A loop that sleeps in the mode notices a timer, a descriptor source, a port with messages and an idle queue with
    /// closures immediately. It notices a ``Source`` and an ``Observer`` when it wakes. ``Source`` says when its
    /// `schedule` is called.
    ///
    /// The mode keeps the item until the item is removed or invalidated, so the program need not keep it. There are two
    /// exceptions: a ``Channel`` is closed when the program releases it, and of an item that is made of others, the
    /// mode keeps the parts.
    ///
    /// - Throws: the item's ``Item/AddError``. Adding a ``DescriptorSource``, a ``SignalSource``, a ``ChildSource`` or
    ///   a message port throws a ``SystemError`` if its descriptor cannot be watched; then it has joined none of the
    ///   modes. Adding any other item of the library does not throw.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopAddSource`, `CFRunLoopAddTimer` and
    /// `CFRunLoopAddObserver`.
    @inlinable public func add<Kind: Item>(_ item: Kind, forMode name: Mode) throws(Kind.AddError) {
        _ = try item.carryOut(.add, of: self, forMode: name)
    }

    /// Removes an item from a mode, or from all common modes. The item stays valid.
    ///
    /// The loop does not call the item in these modes any more. A callout that is under way goes on, and a notification
    /// that is under way still calls an observer. Nothing is lost: a timer keeps its dates, a ``Source`` its signal, a
    /// ``Port`` its messages and an ``IdleQueue`` its closures. The `cancel` of a ``Source`` is called on the calling
    /// thread, once for each mode that the source leaves.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopRemoveSource`, `CFRunLoopRemoveTimer`
    /// and `CFRunLoopRemoveObserver`.
    @inlinable public func remove(_ item: some Item, forMode name: Mode) {
        // Only adding throws.
        _ = try? item.carryOut(.remove, of: self, forMode: name)
    }

    /// Whether an item is in the mode. For ``Mode/common``: whether the item was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopContainsSource`,
    /// `CFRunLoopContainsTimer` and `CFRunLoopContainsObserver`.
    @inlinable public func contains(_ item: some Item, forMode name: Mode) -> Bool {
        // Only adding throws.
        (try? item.carryOut(.contains, of: self, forMode: name)) ?? false
    }
}

extension GRunLoop.Item {
    /// The program's name for the item, for people who read its `description`, a ``GRunLoop/Trace`` or a stall
    /// monitor's report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "\(type(of: self)).label") }
        set { Labels.set(newValue, of: self, "\(type(of: self)).label") }
    }
}
