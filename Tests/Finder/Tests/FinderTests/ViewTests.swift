// SPDX-License-Identifier: Apache-2.0
import Finder
import GRunLoop
import GRunLoopTesting
import Testing

extension Finder {
    @MainActor @Suite struct Windows {
        /// Opens a window while the closure runs.
        private func withWindow(
            _ model: Model = Model(names: ["ada"]), file: String = "",
            _ body: @MainActor (FinderWindow) async throws -> Void
        ) async throws {
            try initializeGTK()
            let window = try #require(FinderWindow(model, file: file))
            window.show()
            defer { window.close() }
            try await body(window)
        }

        @Test func isDrawn() async throws {
            try await withWindow { window in
                let picture = try await gtkPicture(of: window.window)
                #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
                Attachment.record(picture, named: "window.png")
            }
        }

        @Test func drawsWhatChanged() async throws {
            try await withWindow { window in
                let before = try await gtkPicture(of: window.window)
                window.type("a long text that is visible")
                await eventually { (try? await gtkPicture(of: window.window)) != before }
            }
        }

        @Test func typingSearches() async throws {
            let model = Model(names: ["ada", "grace"])
            try await withWindow(model) { window in
                window.type("gr")
                await eventually { model.matches == ["grace"] }
                #expect(model.searches == ["gr"])
            }
        }

        @Test func typingSearchesInVirtualTime() async throws {
            let model = Model(names: ["ada", "grace"])
            try await withVirtualTime { time in
                try await withWindow(model) { window in
                    window.type("ad")
                    await time.advance(by: .milliseconds(300))
                    #expect(model.matches == ["ada"])
                }
            }
        }

        @Test func clicksLoad() async throws {
            let model = Model()
            try await withFile(["ada", "alan"]) { path in
                try await withWindow(model, file: path) { window in
                    press(window.loadButton)
                    let loading = try #require(window.loading)
                    await loading.value
                    #expect(model.names == ["ada", "alan"])
                    #expect(window.failure == nil)
                }
            }
        }

        @Test func clicksReportAnError() async throws {
            try await withWindow(file: "/does/not/exist") { window in
                press(window.loadButton)
                await eventually { window.failure != nil }
            }
        }

        @Test func clockTicks() async throws {
            try await withVirtualTime { time in
                try await withWindow { window in
                    #expect(window.clockText == "0 s")
                    await time.advance(by: .seconds(3))
                    #expect(window.clockText == "3 s")
                    await time.advance(by: .seconds(57))
                    #expect(window.clockText == "60 s")
                }
            }
        }

        @Test func clockEndsWithTheWindow() async throws {
            try await withVirtualTime { time in
                var known: FinderWindow?
                try await withWindow { known = $0 }
                await time.advance(by: .seconds(10))
                #expect(known?.seconds == 0)
            }
        }

        @Test func clockTicksInRealTime() async throws {
            try await withWindow { window in
                await eventually(within: .seconds(5)) { window.clockText == "1 s" }
            }
        }
    }

    @MainActor @Suite struct Dialogs {
        private func question() throws -> Question {
            try initializeGTK()
            return try #require(Question("Delete everything?"))
        }

        @Test func yes() async throws {
            let question = try question()
            async let answer = question.ask()
            await eventually { question.isShown }
            press(question.yes)
            #expect(await answer)
        }

        @Test func no() async throws {
            let question = try question()
            async let answer = question.ask()
            await eventually { question.isShown }
            press(question.no)
            #expect(await answer == false)
        }

        @Test func timersGoOn() async throws {
            let question = try question()
            var ticks = 0
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { @MainActor _ in ticks += 1 }
            GRunLoop.main.add(timer, forMode: .common)
            defer { timer.invalidate() }
            async let answer = question.ask()
            await eventually { question.isShown && ticks >= 5 }
            press(question.yes)
            _ = await answer
        }

        @Test func isDrawn() async throws {
            let question = try question()
            async let answer = question.ask()
            Attachment.record(try await gtkPicture(of: question.window), named: "question.png")
            press(question.no)
            #expect(await answer == false)
        }
    }

    @MainActor @Suite struct Loop {
        @Test func settles() async {
            var done: [Int] = []
            for number in 0..<3 { GRunLoop.main.async { @MainActor in done.append(number) } }
            Task {
                for _ in 0..<5 { await Task.yield() }; done.append(3)
            }
            await GRunLoop.main.settle()
            #expect(done == [0, 1, 2, 3])
        }
    }
}
