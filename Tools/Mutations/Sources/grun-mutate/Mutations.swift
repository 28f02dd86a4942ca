// SPDX-License-Identifier: Apache-2.0
// Finds the places of a source at which one small change makes another program.

import SwiftSyntax

/// One small change of a source.
struct Mutation: Encodable {
    let file: String
    let line: Int
    /// In bytes of UTF-8.
    let offset: Int
    let length: Int
    let replacement: String
    /// What is done, in a word or two.
    let kind: String
}

/// Collects the mutations of one file. It does not look into strings, because a text that people read breaks no promise
/// of a loop. It leaves out calls whose loss no test can notice, or which would only make a test hang.
final class MutationFinder: SyntaxVisitor {
    private let file: String
    private let locations: SourceLocationConverter
    private(set) var mutations: [Mutation] = []

    init(file: String, tree: SourceFileSyntax) {
        self.file = file
        locations = SourceLocationConverter(fileName: file, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    private func replace(_ node: some SyntaxProtocol, by replacement: String, _ kind: String) {
        let start = node.positionAfterSkippingLeadingTrivia
        mutations.append(
            Mutation(
                file: file, line: locations.location(for: start).line, offset: start.utf8Offset,
                length: node.trimmedLength.utf8Length, replacement: replacement, kind: kind))
    }

    private func insert(_ text: String, before node: some SyntaxProtocol, _ kind: String) {
        let start = node.positionAfterSkippingLeadingTrivia
        mutations.append(
            Mutation(
                file: file, line: locations.location(for: start).line, offset: start.utf8Offset, length: 0,
                replacement: text, kind: kind))
    }

    // MARK: Operators and literals

    private static let operators: [String: [String]] = [
        "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
        "==": ["!="], "!=": ["=="], "===": ["!=="], "!==": ["==="],
        "&&": ["||"], "||": ["&&"],
        "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
        "&+": ["&-"], "&-": ["&+"], "&*": ["&+"], "+=": ["-="], "-=": ["+="], "&+=": ["&-="], "&-=": ["&+="],
        "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"], "&<<": ["&>>"], "&>>": ["&<<"], "..<": ["..."],
        "...": ["..<"],
    ]

    override func visit(_ node: BinaryOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        for other in Self.operators[node.operator.text] ?? [] { replace(node.operator, by: other, "operator") }
        return .skipChildren
    }

    override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        if ["!", "-", "~"].contains(node.operator.text) { replace(node.operator, by: "", "sign") }
        return .visitChildren
    }

    override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
        // The parser leaves `a ? b : c` as a sequence: what stands before the ternary operator is its condition.
        let elements = Array(node.elements)
        if let index = elements.firstIndex(where: { $0.is(UnresolvedTernaryExprSyntax.self) }), index > 0 {
            let isAssigned = elements[..<index].contains { $0.is(AssignmentExprSyntax.self) }
            if !isAssigned {
                let condition = elements[..<index].map(\.description).joined()
                let start = elements[0].positionAfterSkippingLeadingTrivia
                let end = elements[index - 1].endPositionBeforeTrailingTrivia
                mutations.append(
                    Mutation(
                        file: file, line: locations.location(for: start).line, offset: start.utf8Offset,
                        length: end.utf8Offset - start.utf8Offset,
                        replacement: "!(\(condition.trimmingTrailingSpace))", kind: "condition"))
            }
        }
        return .visitChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        replace(node, by: node.literal.text == "true" ? "false" : "true", "literal")
        return .skipChildren
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        guard let value = Int(node.literal.text.replacing("_", with: "")) else { return .skipChildren }
        replace(node, by: "\(value + 1)", "literal")
        if value > 1 { replace(node, by: "\(value - 1)", "literal") }
        return .skipChildren
    }

    // MARK: Names

    private static let names = [
        "first": "last", "last": "first", "min": "max", "max": "min", "removeFirst": "removeLast",
        "removeLast": "removeFirst", "prefix": "suffix", "suffix": "prefix",
        "isSubset": "isSuperset", "union": "intersection", "intersection": "union", "insert": "remove",
        "addingSaturating": "subtractingSaturating", "subtractingSaturating": "addingSaturating",
    ]

    override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
        if let other = Self.names[node.baseName.text] { replace(node.baseName, by: other, "name") }
        return .skipChildren
    }

    // MARK: Conditions

    // Not the literals: the compiler would warn of code that is never executed, and a warning is an error.

    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        if let expression = node.condition.as(ExprSyntax.self), !expression.is(BooleanLiteralExprSyntax.self) {
            // A loop without an end would only hang.
            if node.parent?.parent?.is(WhileStmtSyntax.self) != true {
                replace(expression, by: "Bool(\"true\")!", "condition")
            }
            // A guard whose condition is false usually ends every call, which anything notices.
            if node.parent?.parent?.is(GuardStmtSyntax.self) != true {
                replace(expression, by: "Bool(\"false\")!", "condition")
            }
        }
        // A binding that succeeds, and is not used. That of a guard is used after it.
        if node.condition.is(OptionalBindingConditionSyntax.self), node.parent?.parent?.is(IfExprSyntax.self) == true {
            insert("Bool(\"false\")!, ", before: node, "condition")
        }
        return .visitChildren
    }

    override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
        replace(node.condition, by: "Bool(\"true\")!", "condition")
        return .visitChildren
    }

    override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
        // What a function returns is another value: the negation of a condition is the one that has the type.
        if let value = node.expression, let sequence = value.as(SequenceExprSyntax.self),
            !sequence.elements.contains(where: { $0.is(UnresolvedTernaryExprSyntax.self) }),
            value.description.contains(where: isComparison)
        {
            replace(value, by: "!(\(value.trimmedDescription))", "result")
        }
        return .visitChildren
    }

    private func isComparison(_ character: Character) -> Bool { "=<>&|".contains(character) }

    // MARK: Statements

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        switch node.item {
        case .expr(let expression) where isStatement(expression) && !isLeftOut(expression):
            replace(expression, by: "do {}", "statement")
        case .stmt(let statement) where statement.is(DeferStmtSyntax.self): replace(statement, by: "do {}", "statement")
        default: break
        }
        return .visitChildren
    }

    override func visit(_ node: ForStmtSyntax) -> SyntaxVisitorContinueKind {
        // Each element, and none.
        if node.whereClause == nil { insert(" where Bool(\"false\")!", before: node.body, "loop") }
        return .visitChildren
    }

    private static let assigning = ["+=", "-=", "*=", "/=", "&=", "|=", "<<=", ">>=", "&+=", "&-=", "^="]

    private func isStatement(_ expression: ExprSyntax) -> Bool {
        if let sequence = expression.as(SequenceExprSyntax.self) {
            return sequence.elements.contains { element in
                element.is(AssignmentExprSyntax.self)
                    || element.as(BinaryOperatorExprSyntax.self).map { Self.assigning.contains($0.operator.text) }
                        == true
            }
        }
        return expression.is(FunctionCallExprSyntax.self)
    }

    // MARK: What is left out

    override func visit(_ node: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: EnumCaseDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        isLeftOut(node) ? .skipChildren : .visitChildren
    }

    /// Checks of the library by itself, messages, what only debug builds perturb, and locks: without them a test hangs,
    /// or nothing is to be noticed.
    private func isLeftOut(_ expression: some ExprSyntaxProtocol) -> Bool {
        guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
        let callee = call.calledExpression.trimmedDescription
        let names = ["invariant", "checkInvariants", "perturbs", "cgrun_keep_frame", "withExtendedLifetime"]
        return names.contains(callee) || callee.hasPrefix("Log.") || callee.hasSuffix(".checkInvariants")
            || callee.hasSuffix("lock.lock") || callee.hasSuffix("lock.unlock")
    }
}

extension String {
    fileprivate var trimmingTrailingSpace: Substring {
        self[...(lastIndex { !$0.isWhitespace } ?? startIndex)]
    }
}
