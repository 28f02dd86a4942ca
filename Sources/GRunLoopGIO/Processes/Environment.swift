// SPDX-License-Identifier: Apache-2.0
// The environment variables of a process.

import CGRunGIO

extension GIO.Subprocess {
    /// The environment variables of a process.
    public struct Environment: Hashable, Sendable {
        /// Whether the process gets the variables of this process, before the changes.
        let isInherited: Bool
        /// The changed variables and their new values. Nil means that the variable is removed.
        let changes: [String: String?]

        /// The variables of this process.
        public static let inherit = Environment(isInherited: true, changes: [:])

        /// Makes an environment of the variables of this process, with changes.
        ///
        /// - Parameters:
        ///   - variables: the names and values of variables that are added or replaced.
        ///   - names: the names of variables that are removed.
        public static func inherit(
            setting variables: [String: String] = [:], removing names: Set<String> = []
        ) -> Self {
            let removed = Dictionary(uniqueKeysWithValues: names.map { ($0, String?.none) })
            return Environment(isInherited: true, changes: removed.merging(variables.mapValues { $0 }) { $1 })
        }

        /// Makes an environment of only these variables. The program is still looked up in the `PATH` of this process.
        public static func only(_ variables: [String: String]) -> Self {
            Environment(isInherited: false, changes: variables.mapValues { $0 })
        }

        func apply(to launcher: OpaquePointer) throws(GLibError) {
            if !isInherited {
                var empty: UnsafeMutablePointer<CChar>?
                g_subprocess_launcher_set_environ(launcher, &empty)
            }
            for (name, value) in changes {
                guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")) else {
                    throw GLibError(.invalidArgument, "not the name of a variable: '\(name)'")
                }
                if let value {
                    g_subprocess_launcher_setenv(launcher, try withoutNUL(name), try withoutNUL(value), 1)
                } else {
                    g_subprocess_launcher_unsetenv(launcher, try withoutNUL(name))
                }
            }
        }
    }
}
