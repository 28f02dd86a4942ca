// SPDX-License-Identifier: Apache-2.0
// Ensures that only one copy of the library serves a process.
//
// A program and its plug-ins may each be linked with a separate copy of the library. If two copies ran, both would
// drain the main dispatch queue, and a thread would have two loops. All copies share GObject's table of types. The
// first copy that registers `GRunLoop` there serves the process.

import CGRun
import CGRunGLib
import Synchronization

enum OneCopy {
    /// The file that contains this copy: the program or a shared library.
    static let file = String(cString: cgrun_own_file())

    /// The boxed type of a loop in the C interface; 0 in a copy that does not serve the process.
    static let loopType: GType = {
        // GObject logs a message when a name is registered twice, so the name is looked up first.
        guard g_type_from_name(name) == 0 else { return 0 }
        let type = Boxed.register(name)
        // Other copies read the file's name for their message, so the name is never freed.
        if type != 0 { g_type_set_qdata(type, quark, g_strdup(file)) }
        return type
    }()

    /// The file of the copy that serves the process; nil if this copy serves the process.
    static let other: String? = {
        guard loopType == 0 else { return nil }
        guard let known = g_type_get_qdata(g_type_from_name(name), quark) else { return "whose file is not known" }
        return String(cString: known.assumingMemoryBound(to: CChar.self))
    }()

    /// Describes the problem and the remedy.
    static var text: String {
        "another copy of GRunLoop serves this process (\(other ?? "this one")), so this copy (\(file)) does nothing. "
            + "Link the program and its plug-ins to one shared library: libgrun-1.0.so.0, or the product "
            + "GRunLoopDynamic"
    }

    static func explain(_ call: String) { Log.misuse(call, text) }

    private static let hasExplained = Atomic(false)

    static func explainOnce(_ call: String) {
        if !hasExplained.exchange(true, ordering: .relaxed) { explain(call) }
    }

    private static let name = "GRunLoop"
    private static let quark = g_quark_from_string("grun-copy")
}

/// Registers boxed types with GObject. A copy of a boxed reference is another reference to the same object.
enum Boxed {
    static func register(_ name: String) -> GType {
        g_boxed_type_register_static(
            name,
            { object in
                guard let object else { return nil }
                return Unmanaged<AnyObject>.fromOpaque(object).retain().toOpaque()
            },
            { object in if let object { Unmanaged<AnyObject>.fromOpaque(object).release() } })
    }
}
