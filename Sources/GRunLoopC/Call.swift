// SPDX-License-Identifier: Apache-2.0
// A call of a function of the C interface. The methods of this type check the arguments before other Swift code uses
// them.
//
// No argument from C may make Swift trap. If an argument is wrong, the function does what g_return_if_fail() does: it
// logs a g_critical() that names the function and the condition, and returns.

import CGRun
import CGRunHeaders
import GRunLoop

struct Call {
    private let name: StaticString

    /// Runs `body`, which implements the C function `function`. While `body` runs, log messages of this thread name
    /// `function`.
    static func of<Result>(_ function: StaticString = #function, _ body: (Call) -> Result) -> Result {
        let former = cgrun_get_caller()
        cgrun_set_caller(UnsafeRawPointer(function.utf8Start).assumingMemoryBound(to: CChar.self))
        defer { cgrun_set_caller(former) }
        return body(Call(name: function))
    }

    // MARK: Conditions

    /// Returns `condition`. If `condition` is false, logs a critical message with `expression`, which is the same
    /// condition as a C expression.
    func requires(_ condition: Bool, _ expression: StaticString) -> Bool {
        if !condition { complain(expression) }
        return condition
    }

    private func complain(_ expression: StaticString) {
        g_return_if_fail_warning("GRunLoop", String("\(name)".prefix { $0 != "(" }), "\(expression)")
    }

    // MARK: Arguments

    /// Returns the Swift object behind an opaque pointer of C. If the pointer is NULL, logs a critical message and
    /// returns nil.
    func object<Object: AnyObject>(
        _ pointer: OpaquePointer?, _ expression: StaticString, as type: Object.Type = Object.self
    ) -> Object? {
        guard let pointer else {
            complain(expression)
            return nil
        }
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    func loop(_ pointer: OpaquePointer?) -> GRunLoop? { object(pointer, "loop != NULL") }

    func function<Function>(_ function: Function?) -> Function? { required(function, "func != NULL") }

    func required<Value>(_ value: Value?, _ expression: StaticString) -> Value? {
        if value == nil { complain(expression) }
        return value
    }

    func name(_ name: UnsafePointer<CChar>?) -> String? { required(name, "name != NULL").flatMap(validated) }

    func validated(_ name: UnsafePointer<CChar>) -> String? {
        required(String(validatingCString: name), "g_utf8_validate (name, -1, NULL)")
    }

    /// Converts an item's label. NULL gives `.some(nil)`. If the label is not UTF-8, logs a critical message and
    /// returns nil.
    func label(_ text: UnsafePointer<CChar>?) -> String?? {
        guard let text else { return .some(nil) }
        return required(String(validatingCString: text), "g_utf8_validate (label, -1, NULL)").map(Optional.some)
    }

    func mode(_ name: UnsafePointer<CChar>?) -> GRunLoop.Mode? {
        guard let name = required(name, "mode != NULL"), requires(name.pointee != 0, "*mode != '\\0'") else {
            return nil
        }
        // Most calls name one of these two modes. Recognize these modes without making a string, because a string of a
        // long name allocates memory.
        switch cgrun_well_known_mode(name) {
        case CGRUN_MODE_DEFAULT: return .default
        case CGRUN_MODE_COMMON: return .common
        default: break
        }
        return required(String(validatingCString: name).map(GRunLoop.Mode.init(_:)), "g_utf8_validate (mode, -1, NULL)")
    }

    /// Returns a mode in which a loop can run. If the name is NULL, empty or not UTF-8, or if it names the common
    /// modes, logs a critical message and returns nil.
    func runnableMode(_ name: UnsafePointer<CChar>?) -> GRunLoop.Mode? {
        guard let mode = mode(name), requires(mode != .common, "strcmp (mode, GRUN_MODE_COMMON) != 0") else {
            return nil
        }
        return mode
    }

    /// Returns the modes of an array of names that ends with NULL. If a name is empty or not UTF-8, logs a critical
    /// message and returns nil.
    func modes(_ names: UnsafePointer<UnsafePointer<CChar>?>?) -> [GRunLoop.Mode]? {
        guard let names = required(names, "modes != NULL") else { return nil }
        var modes: [GRunLoop.Mode] = []
        while let name = names[modes.count] {
            guard let mode = mode(name) else { return nil }
            modes.append(mode)
        }
        return modes
    }

    /// Converts seconds to a duration, rounded to the nearest nanosecond. A positive number gives at least one
    /// nanosecond. If the number is infinite or out of range, the result is the largest positive or the largest
    /// negative duration. If the number is NaN, logs a critical message and returns nil.
    func seconds(_ seconds: gdouble, _ expression: StaticString = "!isnan (seconds)") -> Duration? {
        guard requires(!seconds.isNaN, expression) else { return nil }
        let nearest = Int64(exactly: (seconds * 1e9).rounded()) ?? (seconds < 0 ? .min : .max)
        return .nanoseconds(nearest == 0 && seconds > 0 ? 1 : nearest)
    }

    /// Returns true if an error can be stored at `place`, or if `place` is NULL because the caller does not want
    /// errors. If `place` already has an error, logs a critical message and returns false.
    func error(_ place: ErrorPlace?) -> Bool {
        requires(place == nil || place?.pointee == nil, "error == NULL || *error == NULL")
    }

    /// Returns whether the calling thread is the loop's own thread. On another thread, or in a forked child, logs a
    /// message and returns false.
    func isOwnThread(_ loop: GRunLoop) -> Bool { loop.isOnOwnThreadForC }

    /// Returns the loop if the calling thread is the loop's own thread. Otherwise logs a critical message and returns
    /// nil.
    func ownLoop(_ pointer: OpaquePointer?) -> GRunLoop? {
        guard let loop = loop(pointer), isOwnThread(loop) else { return nil }
        return loop
    }
}

extension Call {
    /// Runs a function whose arguments are a loop, an item and a mode. Returns `result` if one of these arguments is
    /// wrong.
    static func of<Item, Result>(
        _ loop: OpaquePointer?, _ item: (Call) -> Item?, _ mode: UnsafePointer<CChar>?, otherwise result: Result,
        function: StaticString = #function, _ body: (GRunLoop, Item, GRunLoop.Mode) -> Result
    ) -> Result {
        of(function) { call in
            guard let loop = call.loop(loop), let item = item(call), let mode = call.mode(mode) else { return result }
            return body(loop, item, mode)
        }
    }
}

// MARK: Values

extension Bool {
    init(_ value: gboolean) { self = value != 0 }

    var gboolean: CGRun.gboolean { self ? 1 : 0 }
}

extension Int64 {
    /// Converts microseconds to nanoseconds. If the result is out of range, it becomes the largest positive or the
    /// largest negative number.
    fileprivate init(nanosecondsOf microseconds: gint64) {
        let (product, overflow) = Int64(microseconds).multipliedReportingOverflow(by: 1000)
        self = overflow ? (microseconds < 0 ? .min : .max) : product
    }
}

extension Duration {
    init(microseconds: gint64) { self = .nanoseconds(Int64(nanosecondsOf: microseconds)) }

    var seconds: gdouble { gdouble(wholeNanoseconds) / 1e9 }
}

extension GRunLoop.Instant {
    init(microseconds: gint64) { self.init(wholeNanoseconds: Int64(nanosecondsOf: microseconds)) }

    /// The date in microseconds on the clock of g_get_monotonic_time(). If the date is before the clock's zero, the
    /// result is 0. A negative number would mean that there is no date.
    var microseconds: gint64 {
        let date = wholeNanoseconds
        return date == .max ? .max : gint64(Swift.max(0, date / 1000))
    }
}

/// Copies a string for C code, which frees the copy with g_free().
func copy(_ string: String) -> UnsafeMutablePointer<CChar>? { g_strdup(string) }

/// Copies strings to an array that ends with NULL, for C code, which frees the array with g_strfreev().
func copy(_ strings: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    let copies = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>(
        OpaquePointer(g_malloc0_n(gsize(strings.count + 1), gsize(MemoryLayout<OpaquePointer?>.size))))
    for (index, string) in strings.enumerated() { copies?[index] = copy(string) }
    return copies
}

// MARK: References

/// Returns the pointer that C uses for a Swift object: the object's address, without a reference.
func borrowed(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passUnretained(object).toOpaque()) }

/// Returns the pointer that C uses for a Swift object, with a reference that the caller owns.
func retained(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

extension Call {
    /// Implements the functions `grun_..._ref`.
    func retain(_ pointer: OpaquePointer?, _ expression: StaticString) -> OpaquePointer? {
        object(pointer, expression, as: AnyObject.self).map(retained)
    }

    /// Implements the functions `grun_..._unref`.
    func release(_ pointer: OpaquePointer?, _ expression: StaticString) {
        guard let pointer = required(pointer, expression) else { return }
        Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(pointer)).release()
    }
}
