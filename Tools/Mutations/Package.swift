// swift-tools-version: 6.3
import PackageDescription

// A package of its own: swift-syntax takes minutes to build, and only mutations need it.
let package = Package(
    name: "Mutations",
    dependencies: [.package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0")],
    targets: [
        .executableTarget(
            name: "grun-mutate",
            dependencies: [
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ])
