// SPDX-License-Identifier: Apache-2.0
import Finder
import GRunLoop
import GRunLoopTesting
import Testing

extension Finder {
    @MainActor @Suite struct Search {
        private func model() -> Model { Model(names: ["ada", "alan", "grace"]) }

        @Test func searchesAfterAPause() async {
            await withVirtualTime { time in
                let model = model()
                model.textChanged(to: "a")
                await time.advance(by: .milliseconds(299))
                #expect(model.searches == [])
                await time.advance(by: .milliseconds(1))
                #expect(model.searches == ["a"])
                #expect(model.matches == ["ada", "alan", "grace"])
            }
        }

        @Test func searchesOnceForManyKeys() async {
            await withVirtualTime { time in
                let model = model()
                for text in ["g", "gr", "gra"] {
                    model.textChanged(to: text)
                    await time.advance(by: .milliseconds(100))
                }
                await time.advance(by: .seconds(1))
                #expect(model.searches == ["gra"])
            }
        }

        @Test func searchesAgainAfterAPause() async {
            await withVirtualTime { time in
                let model = model()
                model.textChanged(to: "ada")
                await time.advance(by: .seconds(1))
                model.textChanged(to: "alan")
                await time.advance(by: .seconds(1))
                #expect(model.searches == ["ada", "alan"])
            }
        }

        @Test func nextTimerIsTheSearch() async {
            await withVirtualTime { time in
                let model = model()
                let begin = time.now
                model.textChanged(to: "l")
                #expect(await time.advanceToNextTimer())
                #expect(time.now == begin + .milliseconds(300))
                #expect(model.matches == ["alan"])
                #expect(await time.advanceToNextTimer() == false)
            }
        }

        @Test func debouncesAStream() async {
            await withVirtualTime { time in
                let model = model()
                let (typed, keys) = AsyncStream.makeStream(of: String.self)
                let searching = Task { await model.search(typed) }
                keys.yield("a")
                await time.advance(by: .milliseconds(200))
                keys.yield("al")
                await time.advance(by: .milliseconds(299))
                #expect(model.searches == [])
                await time.advance(by: .milliseconds(1))
                #expect(model.searches == ["al"])
                keys.finish()
                await searching.value
            }
        }

        @Test func inRealTime() async {
            let model = model()
            model.textChanged(to: "ada")
            await eventually(within: .seconds(2)) { model.searches == ["ada"] }
        }
    }

    @MainActor @Suite struct Autosave {
        @Test func savesEveryMinute() async {
            await withVirtualTime { time in
                let model = Model()
                model.beginAutosave()
                await time.advance(by: .seconds(3600))
                #expect(model.saves == 60)
                model.endAutosave()
            }
        }

        @Test func endsWithTheModel() async {
            await withVirtualTime { time in
                let model = Model()
                model.beginAutosave()
                await time.advance(by: .seconds(60))
                model.endAutosave()
                await time.advance(by: .seconds(600))
                #expect(model.saves == 1)
            }
        }

        @Test func nothingIsLeftInTheLoop() async {
            await withVirtualTime { time in
                let model = Model()
                model.beginAutosave()
                model.endAutosave()
                #expect(await time.advanceToNextTimer() == false)
            }
        }
    }

    @MainActor @Suite struct Files {
        @Test func loadsNames() async throws {
            try await withFile(["ada", "grace"]) { path in
                let model = Model()
                try await model.load(from: path)
                #expect(model.names == ["ada", "grace"])
            }
        }

        @Test func staysOnTheMainThread() async throws {
            try await withFile(["ada"]) { path in
                #expect(isOnMainThread())
                try await Model().load(from: path)
                #expect(isOnMainThread())
            }
        }

        @Test func reportsAMissingFile() async {
            await #expect(throws: LoadError.self) { try await Model().load(from: "/does/not/exist") }
        }

        @Test func doesNotBlockTheLoop() async throws {
            try await withFile(["ada"]) { path in
                try await expectNoStall(over: .milliseconds(100)) { try await Model().load(from: path) }
            }
        }

        @Test func loadsManyTimes() async throws {
            try await withFile(["ada"]) { path in
                let model = Model()
                for _ in 0..<50 { try await model.load(from: path) }
                #expect(model.names == ["ada"])
            }
        }

        @Test func triesAgainWithPauses() async throws {
            try await withFile([]) { path in
                await withVirtualTime { time in
                    let model = Model()
                    let begin = time.now
                    let loading = Task { try? await model.loadPatiently(from: path + "-missing") }
                    await eventually { model.attempts == 1 }
                    await time.advance(by: .seconds(1))
                    await eventually { model.attempts == 2 }
                    #expect(model.attempts == 2)
                    await time.advance(by: .seconds(2))
                    await eventually { model.attempts == 3 }
                    await time.advance(by: .seconds(4))
                    await loading.value
                    #expect(model.attempts == 4)
                    #expect(time.now == begin + .seconds(7))
                }
            }
        }

        @Test func canBeCancelled() async {
            await withVirtualTime { time in
                let model = Model()
                let loading = Task { try await model.loadPatiently(from: "/does/not/exist") }
                await eventually { model.attempts == 1 }
                loading.cancel()
                await #expect(throws: (any Error).self) { try await loading.value }
                #expect(model.attempts == 1)
            }
        }
    }
}
