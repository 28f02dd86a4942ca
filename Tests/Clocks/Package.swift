// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own: the library needs nothing of what its clock is tried with here.

let package = Package(
    name: "GRunLoopClocks",
    dependencies: [
        .package(name: "GRunLoop", path: "../.."),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
    ],
    targets: [
        .executableTarget(
            name: "clocks",
            dependencies: [
                .product(name: "GRunLoop", package: "GRunLoop"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
