// SPDX-License-Identifier: Apache-2.0
// Shortens the demangled name of a Swift function for a timeline: removes types and private details.

enum FunctionName {
    private static let modules = [
        "GRunLoop", "GRunLoopDiagnostics", "GRunLoopMessagePorts", "GRunLoopC", "GRunLoopFoundation",
    ]

    /// Returns the short name of a function, such as "closure #1 in Worker.init(asking:)". A name that is not a
    /// demangled Swift name is returned unchanged. Returns nil for functions of this library and thunks of the
    /// compiler, because their names do not help the reader of a timeline.
    static func brief(_ full: String) -> String? {
        var rest = withoutSpecializations(full)
        var closures = ""
        let forwarder = "partial apply forwarder for "
        if rest.hasPrefix(forwarder) { rest = rest.dropFirst(forwarder.count) }
        // A thunk's name does not show which function the thunk calls.
        if rest.hasPrefix("reabstraction thunk") { return nil }
        while rest.hasPrefix("closure #"), let end = outermost(" in ", in: rest) {
            closures += rest.prefix { $0 != " " } + " " + rest.dropFirst(8).prefix { $0 != " " } + " in "
            rest = rest[end.upperBound...]
        }
        if rest.hasPrefix("static ") { rest = rest.dropFirst(7) }
        if modules.contains(where: { rest.hasPrefix("\($0).") || rest.hasPrefix("(extension in \($0))") }) {
            return nil
        }
        return closures + withoutTypes(withoutDiscriminators(rest))
    }

    /// Turns "generic specialization <Swift.Int> of f" into "f". The compiler generates a specialization, which is a
    /// copy of `f` for certain types or arguments.
    private static func withoutSpecializations(_ name: String) -> Substring {
        var rest = name[...]
        while let open = rest.firstIndex(of: "<"), rest[..<open].hasSuffix(" specialization "),
            let end = outermost(" of ", in: rest)
        {
            rest = rest[end.upperBound...]
        }
        return rest.hasPrefix("merged ") ? rest.dropFirst(7) : rest
    }

    /// Turns "(Worker in _4381A2…).run()" into "Worker.run()". The number identifies the file of a private declaration.
    private static func withoutDiscriminators(_ name: Substring) -> String {
        var result = ""
        var rest = name
        while let middle = range(of: " in _", in: rest), let open = rest[..<middle.lowerBound].lastIndex(of: "("),
            let close = rest[middle.upperBound...].firstIndex(of: ")")
        {
            result += rest[..<open] + rest[rest.index(after: open)..<middle.lowerBound]
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    /// Turns "f(a: Swift.Int, Swift.Bool) -> ()" into "f(a:_:)".
    private static func withoutTypes(_ name: String) -> String {
        guard let arrow = outermost(" -> ", in: name[...]), let open = name.firstIndex(of: "("),
            open < arrow.lowerBound, name[..<arrow.lowerBound].last == ")"
        else { return name }
        var labels = ""
        var rest = name[name.index(after: open)..<name.index(before: arrow.lowerBound)]
        while !rest.isEmpty {
            let end = outermost(", ", in: rest) ?? rest.endIndex..<rest.endIndex
            let parameter = rest[..<end.lowerBound]
            labels += outermost(": ", in: parameter).map { parameter[..<$0.lowerBound] + ":" } ?? "_:"
            rest = rest[end.upperBound...]
        }
        return name[...open] + labels + ")"
    }

    /// Returns the first range of `wanted` in `text`. The standard library's search is not used, because it would load
    /// two more libraries into each process.
    private static func range(of wanted: String, in text: Substring) -> Range<String.Index>? {
        guard let start = text.indices.first(where: { text[$0...].hasPrefix(wanted) }) else { return nil }
        return start..<text.index(start, offsetBy: wanted.count)
    }

    /// Returns the first range of `wanted` in `text` that is outside all brackets.
    private static func outermost(_ wanted: String, in text: Substring) -> Range<String.Index>? {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "(", "[", "<", "{": depth += 1
            case ")", "]", "}": depth -= 1
            // The `>` of `->` is not a bracket.
            case ">" where index == text.startIndex || text[text.index(before: index)] != "-": depth -= 1
            default: break
            }
            if depth == 0, text[index...].hasPrefix(wanted) {
                return index..<text.index(index, offsetBy: wanted.count)
            }
        }
        return nil
    }
}
