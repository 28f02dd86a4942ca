// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, because the library needs neither GTK nor swift-async-algorithms. It has a small GTK program
// with tests as a user of GRunLoopTesting writes them, the tests of GRunLoopTesting itself, and the loop's clock under
// other people's algorithms.

let package = Package(
    name: "Finder",
    dependencies: [
        .package(name: "GRunLoop", path: "../.."),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
    ],
    targets: [
        .systemLibrary(name: "CGtk", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(
            name: "Finder",
            dependencies: [
                "CGtk", .product(name: "GRunLoop", package: "GRunLoop"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "clocks",
            dependencies: [
                .product(name: "GRunLoop", package: "GRunLoop"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "ProductTests",
            dependencies: ["CGtk", .product(name: "GRunLoopTesting", package: "GRunLoop")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "FinderTests",
            dependencies: ["Finder", .product(name: "GRunLoopTesting", package: "GRunLoop")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
