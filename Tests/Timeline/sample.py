#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes records of an invented program, in the format of the timeline's page. They are the same in each run. One loop
belongs to a window hosted by GTK and nests runs, one reads files, and one only waits. There are a stall of 300 ms,
labels that would harm a careless page, and overwritten records.

usage: sample.py [--spans N] [--page TEMPLATE] [--broken | --other-version | --empty]

It prints the JSON, or with --page the page. With --spans there are at least that many spans.
"""
import argparse
import json
import random
import sys

RUN, CALLOUT, SLEEP, HOST = range(4)
US, MS = 1_000, 1_000_000
MODES = ["kCFRunLoopDefaultMode", "tracking", "com.example.sheet"]
STAGES = ["entry", "beforeTimers", "beforeSources", "blocks", "sources", "mainQueueCheck", "beforeWaiting", "wait",
          "afterWaiting", "service", "exit"]  # fmt: skip
STALL = "index the whole library"
MAIN, READER = 4711, 4712

ITEMS = [
    ("timer", "frame", "closure #1 in Canvas.start() in editor", "every 0.016 s"),
    ("timer", "autosave", "closure #2 in Document.init() in editor", "every 0.5 s"),
    ("timer", STALL, "Library.index() in editor", "once"),
    ("observer", "layout", "closure #1 in Window.observe() in editor", "beforeWaiting"),
    ("block", None, "closure #1 in Document.load(_:) in editor", None),
    ("source", "undo", "closure #1 in UndoManager.init() in editor", "order 0"),
    ("descriptor", "inotify", "closure #1 in Watcher.start() in editor", "descriptor 9, read"),
    ("mainQueue", None, None, None),
    ("context", "GDK events", None, "priority 0"),
    ("idleWork", "spelling", "closure #1 in Speller.start() in editor", None),
    ("port", "replies", "closure #2 in Reader.init() in editor", None),
    ("descriptor", "read a file", "closure #1 in Reader.read(_:) in editor", "descriptor 12, read"),
    ("block", "parse", "closure #3 in Reader.read(_:) in editor", None),
    ("source", "sheet's buttons", "closure #1 in Sheet.run() in editor", None),
]
# Labels that a careless page would execute, show in the wrong direction or fail on.
HOSTILE = [
    "<img src=x onerror=\"window.harmed = 1\">",
    "</script><script>window.harmed = 1</script>",
    "<!--<script>",
    "\u202egnp.tfarg\u202c and \x1b[31mred\x1b[0m\0\r\n\ttabs",
    "\u2028line\u2029paragraph\ud800 half",
    "مرحبا بالعالم — שלום — 世界 — 👩‍💻",
    "__proto__",
    "@TIMELINE@",
    "constructor",
    "wide " * 200_000,
]


class Loop:
    def __init__(self, name, thread, hosted):
        self.name, self.thread, self.hosted = name, thread, hosted
        self.now, self.from_, self.overwritten = 0, 0, 0
        self.spans, self.marks, self.wake_ups = [], [], []
        self.depth, self.mode = 0, -1

    def mark(self, stage):
        self.marks.append([self.now, STAGES.index(stage), self.depth])

    def open(self, kind, item=-1, extra=0):
        self.spans.append([self.now, 0, kind, self.depth, self.mode, item, extra])
        return len(self.spans) - 1

    def close(self, at):
        self.spans[at][1] = self.now - self.spans[at][0]

    def call(self, item, length, extra=0):
        at = self.open(CALLOUT, item, extra)
        self.now += length
        self.close(at)

    def host(self, length):
        depth, self.depth = self.depth, 0
        at = self.open(HOST)
        self.now += length
        self.close(at)
        self.depth = depth

    def enter(self, mode):
        outer = self.depth, self.mode
        self.depth, self.mode = self.depth + 1, mode
        at = self.open(RUN)
        self.mark("entry")
        return at, outer

    def leave(self, entered):
        self.mark("exit")
        at, (self.depth, self.mode) = entered
        self.close(at)

    def sleep(self, length, wake=None):
        self.mark("beforeWaiting")
        at = self.open(SLEEP)
        self.now += length
        self.close(at)
        if wake:
            thread, loop, latency = wake
            self.wake_ups.append([max(0, self.now - latency), self.now, thread, loop])
        self.now += 2 * US
        self.mark("afterWaiting")

    def record(self, to):
        return {
            "name": self.name, "thread": self.thread, "hosted": self.hosted, "from": self.from_, "to": to,
            "overwritten": self.overwritten, "spans": self.spans, "marks": self.marks, "wakeUps": self.wake_ups,
        }  # fmt: skip


def around(dice, middle):
    return max(1, int(dice.lognormvariate(0, 0.45) * middle))


def turn(loop, dice, number, items):
    """A pass of the window's loop."""
    for stage in ("beforeTimers", "beforeSources"):
        loop.mark(stage)
    late = around(dice, 60 * US)
    loop.call(items["frame"], around(dice, 1800 * US), late)
    if number % 31 == 5:
        loop.call(items["autosave"], around(dice, 7 * MS), around(dice, 900 * US))
    if dice.random() < 0.12:
        loop.mark("blocks")
        loop.call(4, around(dice, 900 * US))
    if dice.random() < 0.15:
        loop.mark("sources")
        loop.call(items["undo"], around(dice, 300 * US))
    if dice.random() < 0.1:
        loop.call(items["inotify"], around(dice, 120 * US))
    if dice.random() < 0.2:
        loop.mark("mainQueueCheck")
        loop.call(7, around(dice, 400 * US))
    if dice.random() < 0.3:
        loop.call(items["GDK events"], around(dice, 1200 * US))
    if dice.random() < 0.08:
        loop.call(items["spelling"], around(dice, 3 * MS))
    loop.call(items["layout"], around(dice, 250 * US))


def rest(loop, dice, length=None):
    """A sleep, which another thread ends at times."""
    who = dice.random()
    wake = None
    if who < 0.25:
        wake = READER, 1, around(dice, 40 * US)
    elif who < 0.35:
        wake = dice.choice([4720, 4721, 4733]), -1, around(dice, 300 * US)
    loop.sleep(length or around(dice, 9 * MS), wake)


def window(dice, names, passes):
    loop = Loop("main", MAIN, True)
    loop.now = 60 * US
    for number in range(passes):
        loop.host(around(dice, 700 * US))
        if number % 40 < 26:
            run = loop.enter(0)
            turn(loop, dice, number, names)
            if number == 61:
                sheet(loop, dice, names)
            if number == 84:
                loop.call(names[STALL], 300 * MS, 4 * MS)
            rest(loop, dice)
            loop.leave(run)
        else:
            run = loop.enter(1)
            turn(loop, dice, number, names)
            rest(loop, dice, around(dice, 4 * MS))
            loop.leave(run)
        if number in (20, 33, 47) or number % 400 == 399:
            # Each item with a hostile label is called once here, and at times later.
            for item in range(len(ITEMS), len(ITEMS) + len(HOSTILE)):
                loop.call(item, around(dice, 350 * US))
    return loop


def sheet(loop, dice, names):
    """A run in a callout, which serves the loop for longer than the stall limit, and another run in that run."""
    outer = loop.open(CALLOUT, names["undo"])
    loop.now += 200 * US
    run = loop.enter(2)
    for number in range(14):
        loop.call(names["sheet's buttons"], around(dice, 600 * US))
        if number == 6:
            inner = loop.open(CALLOUT, names["sheet's buttons"])
            loop.now += 90 * US
            nested = loop.enter(1)
            for _ in range(6):
                loop.call(names["frame"], around(dice, 900 * US), around(dice, 40 * US))
                rest(loop, dice, around(dice, 6 * MS))
            loop.leave(nested)
            loop.now += 60 * US
            loop.close(inner)
        rest(loop, dice, around(dice, 12 * MS))
    loop.leave(run)
    loop.now += 150 * US
    loop.close(outer)


def reader(dice, names, until):
    loop = Loop("reader", READER, False)
    loop.now = 140 * US
    run = loop.enter(0)
    while loop.now < until - 40 * MS:
        for stage in ("beforeTimers", "beforeSources"):
            loop.mark(stage)
        for _ in range(dice.randrange(1, 5)):
            loop.call(names["read a file"], around(dice, 160 * US))
            loop.call(names["parse"], around(dice, 500 * US))
        if dice.random() < 0.2:
            loop.call(names["replies"], around(dice, 90 * US))
        loop.sleep(around(dice, 11 * MS), (MAIN, 0, around(dice, 35 * US)) if dice.random() < 0.4 else None)
    loop.leave(run)
    # The first records of this loop were overwritten.
    cut = until // 9
    loop.spans = [span for span in loop.spans if span[0] >= cut or span[2] == RUN]
    for span in loop.spans:
        if span[0] < cut:
            span[1] -= cut - span[0]
            span[0] = cut
    loop.marks = [mark for mark in loop.marks if mark[0] >= cut]
    loop.wake_ups = [wake for wake in loop.wake_ups if wake[0] >= cut]
    loop.from_, loop.overwritten = cut, 12_345
    return loop


def waiter(until):
    loop = Loop("waits \u202efor nothing <b>", 4713, False)
    loop.now = 300 * US
    run = loop.enter(0)
    for _ in range(3):
        loop.sleep((until - 2 * MS) // 3, (4733, -1, 50 * US))
    loop.leave(run)
    return loop


def records(spans):
    dice = random.Random(20261125)
    items = [dict(zip(("kind", "label", "calls", "detail"), item)) for item in ITEMS]
    for number, label in enumerate(HOSTILE):
        kind = ("block", "source", "port", "new <kind>")[number % 4]
        items.append({"kind": kind, "label": label, "calls": label if number % 2 else None, "detail": None})
    names = {item["label"]: index for index, item in enumerate(items)}
    passes = max(170, spans // 10)
    main = window(dice, names, passes)
    to = main.now + 1 * MS
    loops = [main, reader(dice, names, to), waiter(to)]
    return {
        "version": 1, "program": "editor <i>", "process": MAIN, "start": "2026-11-25T10:00:00.123456Z", "duration": to,
        "modes": MODES, "items": items, "loops": [loop.record(to) for loop in loops], "stages": STAGES,
        "threads": {str(READER): "reader", "4720": "pool-1", "4721": "pool-2 <u>", "4713": "waiter"},
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spans", type=int, default=0)
    parser.add_argument("--page")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--other-version", action="store_true")
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    data = records(options.spans)
    if options.other_version:
        data = {"version": "2 <b>", "loops": 7}
    if options.empty:
        data["loops"] = [dict(loop, spans=[], marks=[], wakeUps=[]) for loop in data["loops"]]
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    if options.broken:
        text = text[: len(text) // 2]
    if options.page:
        with open(options.page, encoding="utf-8") as file:
            before, after = file.read().split("@TIMELINE@")
        text = before + text + after
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
