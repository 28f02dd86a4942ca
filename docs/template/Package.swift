// swift-tools-version: 6.3
import PackageDescription

let loop = Target.Dependency.product(name: "GRunLoop", package: "GRunLoop")
let testing = Target.Dependency.product(name: "GRunLoopTesting", package: "GRunLoop")

let package = Package(
    name: "template",
    dependencies: [.package(url: "https://example.org/YOUR-FORK/GRunLoop", branch: "main")],
    targets: [
        // The code that both programs share.
        .target(name: "Clock", dependencies: [loop]),
        // A daemon. SIGTERM ends it.
        .executableTarget(name: "service", dependencies: ["Clock", loop]),
        // A GTK 4 program. Remove these two lines if you do not need GTK.
        .systemLibrary(name: "CGtk4", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .executableTarget(name: "window", dependencies: ["CGtk4", "Clock", loop]),
        .testTarget(name: "ClockTests", dependencies: ["Clock", loop, testing]),
    ])
