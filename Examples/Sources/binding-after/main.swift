// SPDX-License-Identifier: Apache-2.0
// A binding whose Application.run() is g_application_run(). In binding-after, GRunLoop serves it.

import CGRunGIO
import Foundation
import GRunLoop
import GRunLoopFoundation
import Measuring

// MARK: The binding

final class Application {
    private let pointer: UnsafeMutablePointer<GApplication>
    private var onActivate: (() -> Void)?

    init(id: String) {
        pointer = g_application_new(id, cglib_application_non_unique)
        g_application_hold(pointer)
    }

    func connectActivate(_ body: @escaping () -> Void) {
        onActivate = body
        let handler: @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = { _, data in
            Unmanaged<Application>.fromOpaque(data).takeUnretainedValue().onActivate?()
        }
        g_signal_connect_data(
            pointer, "activate", unsafeBitCast(handler, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(), nil, .init(rawValue: 0))
    }

    func run() -> Int32 {
        guard let serving = try? GRunLoop.main.serve(RunLoop.main) else { return 1 }
        return withExtendedLifetime(serving) { g_application_run(pointer, 0, nil) }
    }
}

// MARK: A program

let application = Application(id: "org.example.Binding")
application.connectActivate {
    Task { @MainActor in print("a job of the main actor") }
    DispatchQueue.main.async { print("a block of the main queue") }
    Gain.measureIfAsked()
}
exit(application.run())
