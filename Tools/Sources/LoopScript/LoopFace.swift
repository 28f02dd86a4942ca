// SPDX-License-Identifier: Apache-2.0
// The interface that a script needs of a run loop, and the loop's reports to the script.

/// How a run ended, under the names that both loops share.
public enum RunEnd: Int32, Sendable {
    case finished = 1
    case stopped = 2
    case timedOut = 3
    case handledSource = 4
}

/// The time limit of a run, without loss of precision.
public enum RunTime: Sendable {
    /// Exactly this many seconds: 0 or less.
    case seconds(Int)
    /// Until this CLOCK_MONOTONIC date in nanoseconds; the face turns it into a duration at the last moment.
    case until(UInt64)
    case forever
}

/// The kinds of items that can be ready in the service stage, if the face may choose.
public enum ReadyKind: Equatable, Sendable {
    case wakeUp
    case timers
    case port(Int)
    case other
}

/// Where a loop delivers its callouts.
public protocol ScriptCallouts: AnyObject {
    func scheduled(source: Int, mode: ModeName)
    func cancelled(source: Int, mode: ModeName)
    func performed(source: Int)
    func performed(port: Int)
    func fired(timer: Int)
    func observed(observer: Int, activity: UInt)
    /// A pass begins. Called only by a face that marks passes.
    func passBegins()
    /// Whether the run that is about to wait would sleep although its time is up or it is stopped (`Rule.wakeUpEaten`).
    func wouldOversleep() -> Bool
    /// Which of several ready items comes next; nil leaves it to the loop.
    func choose(among ready: [ReadyKind]) -> Int?
}

/// A run loop as a script sees it. All calls come on the loop's thread, except `wakeUp` and `stop`.
public protocol LoopFace: AnyObject {
    /// Whether the face calls `passBegins`. Set before the first run.
    var marksPasses: Bool { get set }

    /// How long the loop serves one kind in a row before other kinds have their turn; nil means no limit.
    var timeSlice: Duration? { get set }
    /// How often a slice was used up and other kinds had their turn.
    var cutCount: Int { get }

    /// Makes the items of a program. Must be called on the loop's thread.
    func begin(_ program: Program, grid: Grid, callouts: any ScriptCallouts)
    /// Releases the items; the thread may have ended.
    func end()

    func add(_ item: ItemID, to mode: ModeName)
    func remove(_ item: ItemID, from mode: ModeName)
    func contains(_ item: ItemID, in mode: ModeName) -> Bool
    func invalidate(_ item: ItemID)
    func isValid(_ item: ItemID) -> Bool
    func addCommonMode(_ mode: ModeName)
    func signal(source: Int)
    func isSignalled(source: Int) -> Bool
    func makeReady(port: Int)
    func setDate(ofTimer timer: Int, to date: UInt64)
    /// The next fire date as CLOCK_MONOTONIC in nanoseconds; nil if the timer is invalid.
    func date(ofTimer timer: Int) -> Int64?
    func nextFireDate(in mode: ModeName) -> Int64?
    func perform(inModes modes: [ModeName], _ body: @escaping () -> Void)
    func run(_ mode: ModeName, _ time: RunTime, returnAfterSourceHandled: Bool) -> RunEnd
    func wakeUp()
    func stop()
    var isWaiting: Bool { get }
    var currentMode: ModeName? { get }
    var allModes: [ModeName] { get }
}

/// The defaults for a loop without time slices, which runs each step to its end.
extension LoopFace {
    public var timeSlice: Duration? {
        get { nil }
        set { _ = newValue }
    }
    public var cutCount: Int { 0 }
}
