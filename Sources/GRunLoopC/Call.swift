// SPDX-License-Identifier: Apache-2.0
// A call of a function of the C interface: its arguments, checked before anything of Swift sees them.
//
// No argument from C may reach a trap of Swift's. What is wrong with one is said as g_return_if_fail() says it: a
// g_critical() that names the function and the condition; then the function returns.

import CGRun
import CGRunHeaders
import GRunLoop

struct Call {
    private let name: StaticString

    /// Has `body` carry out the function that it is written in, which messages name meanwhile.
    static func of<Result>(_ function: StaticString = #function, _ body: (Call) -> Result) -> Result {
        let former = cgrun_get_caller()
        cgrun_set_caller(UnsafeRawPointer(function.utf8Start).assumingMemoryBound(to: CChar.self))
        defer { cgrun_set_caller(former) }
        return body(Call(name: function))
    }

    // MARK: Conditions

    /// Says so if the condition, whose text in C is `expression`, does not hold.
    func requires(_ condition: Bool, _ expression: StaticString) -> Bool {
        if !condition { complain(expression) }
        return condition
    }

    private func complain(_ expression: StaticString) {
        g_return_if_fail_warning("GRunLoop", String("\(name)".prefix { $0 != "(" }), "\(expression)")
    }

    // MARK: Arguments

    /// The Swift object that an opaque pointer of C is.
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

    /// An item's label, which may be none. Nil if it is no text.
    func label(_ text: UnsafePointer<CChar>?) -> String?? {
        guard let text else { return .some(nil) }
        return required(String(validatingCString: text), "g_utf8_validate (label, -1, NULL)").map(Optional.some)
    }

    func mode(_ name: UnsafePointer<CChar>?) -> GRunLoop.Mode? {
        guard let name = required(name, "mode != NULL"), requires(name.pointee != 0, "*mode != '\\0'") else {
            return nil
        }
        // By far most calls name one of these two, and a long name is a piece of memory.
        switch cgrun_well_known_mode(name) {
        case CGRUN_MODE_DEFAULT: return .default
        case CGRUN_MODE_COMMON: return .common
        default: break
        }
        return required(String(validatingCString: name).map(GRunLoop.Mode.init(_:)), "g_utf8_validate (mode, -1, NULL)")
    }

    /// A mode that can be current.
    func runnableMode(_ name: UnsafePointer<CChar>?) -> GRunLoop.Mode? {
        guard let mode = mode(name), requires(mode != .common, "strcmp (mode, GRUN_MODE_COMMON) != 0") else {
            return nil
        }
        return mode
    }

    /// Names up to a NULL.
    func modes(_ names: UnsafePointer<UnsafePointer<CChar>?>?) -> [GRunLoop.Mode]? {
        guard let names = required(names, "modes != NULL") else { return nil }
        var modes: [GRunLoop.Mode] = []
        while let name = names[modes.count] {
            guard let mode = mode(name) else { return nil }
            modes.append(mode)
        }
        return modes
    }

    /// A span in seconds, to the nearest nanosecond, but at least one if it is positive. Infinite ones are the longest
    /// there are.
    func seconds(_ seconds: gdouble, _ expression: StaticString = "!isnan (seconds)") -> Duration? {
        guard requires(!seconds.isNaN, expression) else { return nil }
        let nearest = Int64(exactly: (seconds * 1e9).rounded()) ?? (seconds < 0 ? .min : .max)
        return .nanoseconds(nearest == 0 && seconds > 0 ? 1 : nearest)
    }

    /// Where an error is to go, if the caller wants it.
    func error(_ place: ErrorPlace?) -> Bool {
        requires(place == nil || place?.pointee == nil, "error == NULL || *error == NULL")
    }

    /// Whether the calling thread is the loop's own; if not, says so.
    func isOwnThread(_ loop: GRunLoop) -> Bool { loop.isCalledOnOwnThread(by: "") }
}

extension Call {
    /// Carries out a function of a loop, something that can be in its modes, and a mode.
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
    /// Microseconds in nanoseconds, as far as they fit.
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

    /// Of the clock of g_get_monotonic_time(); a date before that began is 0, since negative numbers mean that there is
    /// none.
    var microseconds: gint64 {
        let date = wholeNanoseconds
        return date == .max ? .max : gint64(Swift.max(0, date / 1000))
    }
}

/// A copy for C, which frees it with g_free().
func copy(_ string: String) -> UnsafeMutablePointer<CChar>? { g_strdup(string) }

/// A copy for C, which frees it with g_strfreev().
func copy(_ strings: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    let copies = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>(
        OpaquePointer(g_malloc0_n(gsize(strings.count + 1), gsize(MemoryLayout<OpaquePointer?>.size))))
    for (index, string) in strings.enumerated() { copies?[index] = copy(string) }
    return copies
}

// MARK: References

/// A Swift object as C knows it: the pointer is the object itself.
func borrowed(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passUnretained(object).toOpaque()) }

/// The same with a reference for the caller.
func retained(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

extension Call {
    /// `grun_..._ref`.
    func retain(_ pointer: OpaquePointer?, _ expression: StaticString) -> OpaquePointer? {
        object(pointer, expression, as: AnyObject.self).map(retained)
    }

    /// `grun_..._unref`.
    func release(_ pointer: OpaquePointer?, _ expression: StaticString) {
        guard let pointer = required(pointer, expression) else { return }
        Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(pointer)).release()
    }
}
