// SPDX-License-Identifier: Apache-2.0
// Every known difference between the real CFRunLoop and GRunLoop, and what the runner does about it.

/// One exclusion. If possible, the runner fixes the oracle instead of leaving something out. Otherwise the executor
/// skips the one action that would meet the bug, on both loops alike, and writes it into the trace.
public enum Rule: String, CaseIterable, Sendable {
    case staleTimerDescriptor
    case lastSourceDecides
    case removedSourcePerforms
    case removedTimerFires
    case ownDateInSeveralModes
    case wakeUpEaten
    case busyDeadline
    case entryTakesTime
    case portReadBeforeAfterWaiting
    case waitedItemGone
    case ghostCommonItem
    case commonItemOrder
    case pseudoModeObject
    case timeSlice

    /// Which bug or difference it is, and why the rule hides nothing else.
    public var reason: String {
        switch self {
        case .staleTimerDescriptor:
            """
            A fault of CF (item 144): it disarms a mode's timerfd for no reason but another timer, so it fires at \
            the date of a timer that is gone, or of one that is firing in another mode. The CF face keeps a timer \
            of its own, years away, beside the real timers of a mode; then CF always arms the right date. Nothing \
            is skipped.
            """
        case .lastSourceDecides:
            """
            A fault of CF: of several collected version-0 sources the last one alone decides whether the pass \
            handled any. Invalidating the last one before its turn is skipped; if a nested run performed it, it is \
            signalled again when that run returns.
            """
        case .removedSourcePerforms:
            """
            Item 92 the other way (our rule): CF still performs a collected source that was removed from the \
            mode. Removing a source from the mode for which it waits its turn is skipped.
            """
        case .removedTimerFires:
            """
            Item 130 the other way (our rule): CF still fires a due timer of the batch that was removed from \
            the mode but is in another one, or comes into one. Just that removal, and that return, is skipped.
            """
        case .ownDateInSeveralModes:
            """
            A fault of CF: a timer whose date is set while it fires is armed afterwards only in the \
            mode in which it fired; in its other modes it never wakes the loop. Setting the date of a firing \
            timer is skipped unless it is in that mode alone, and so is adding it elsewhere until it has fired.
            """
        case .wakeUpEaten:
            """
            A fault of CF: CF's deadline, like its stop, is a flag and a single wake-up. A nested run \
            that is the innermost one then consumes the wake-up, and the outer run sleeps on, past its deadline or \
            stopped as it is, until something else wakes it (item 59 has it return). The CF face wakes a run that \
            is about to wait in such a state. Nothing is skipped.
            """
        case .busyDeadline:
            """
            As above: a deadline that passes while the thread is busy in a callout before the wait leaves a \
            wake-up token behind in CF. Being busy across a deadline of an active run is skipped (item 183 is \
            still met: a nested run may well outlast an outer deadline).
            """
        case .entryTakesTime:
            """
            A run's deadline counts from after its entry observers, which shifts it off the grid. Inside an entry \
            observer of a run with a deadline, actions that take time are skipped.
            """
        case .portReadBeforeAfterWaiting:
            """
            Item 104: CF reads a version-1 source's descriptor before afterWaiting, GRunLoop never does. In an \
            afterWaiting observer, making a source ready that is ready already is skipped, and so is removing it.
            """
        case .waitedItemGone:
            """
            CF decides before afterWaiting which item the pass services, and reads its descriptor then. In an \
            afterWaiting observer, a nested run is skipped while a timer or version-1 source of the mode of its run is \
            ready, or of an outer run that is in one too; so is taking away (or moving) such an item while another one \
            is ready as well.
            """
        case .ghostCommonItem:
            """
            A fault of CF: a common item that was taken out of every mode one by one is forgotten: \
            CF denies that the common modes contain such a timer, and leaves such an item there when it is \
            invalidated. The question whether the common modes contain it is skipped for just those.
            """
        case .commonItemOrder:
            """
            Items 84 and 86: CF walks a hash set of modes or common items, so the order is nobody's. The schedule \
            and cancel lines of one action are sorted, and the generator gives observers that are common items \
            different orders.
            """
        case .pseudoModeObject:
            """
            Item 176: performing a block in the common modes has CF create a mode object that is literally named \
            kCFRunLoopCommonModes, which it then lists among all modes. Item 166: for GRunLoop that name is the \
            pseudo mode and nothing else. The answer about all modes leaves that one name out.
            """
        case .timeSlice:
            """
            Our rule (docs/internals/turns.md): CF has no time slices. With --long-callouts, callouts are longer than \
            a slice of GRunLoop. If other kinds are ready then, the rest of a step waits for their turn, and GRunLoop \
            counts a cut. The traces are compared up to the first cut. A program in which no other kind is ready has \
            no cut, and is compared to its end.
            """
        }
    }
}
