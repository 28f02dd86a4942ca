#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a page of a timeline in a browser: the mouse and the keys, the shown spans and texts, and that it loads
nothing.

usage: page-check.py PAGE [--stall LABEL] [--items N] [--loops N] [--shows TEXT]... [--lost] [--speed]
           [--pictures DIR]
       page-check.py PAGE --message TEXT

--stall is a text in the label of the longest stall. --items is the least number of items, --loops the exact number of
loops. --shows is a text that the table must show unchanged. --lost means that records of a loop were overwritten.
--speed limits the time until the first frame and the time for a zoom. --message is for a page that shows only a
message.
"""
import argparse
import os
import pathlib
import re
import statistics
import sys

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
CALLOUT, SLEEP = 1, 2
FIRST_FRAME, REDRAW = 3000, 100


class Check:
    def __init__(self, page, options):
        self.page, self.options = page, options
        self.count, self.failed = 0, 0

    def that(self, name, holds, found=""):
        self.count += 1
        if not holds:
            self.failed += 1
            print(f"page-check: FAILED: {name}: {found!r:.300}", file=sys.stderr)
        return holds

    def load(self):
        self.page.goto(self.options.page.resolve().as_uri())
        if not self.options.message:
            self.page.wait_for_function("window.timeline && timeline.firstFrame > 0", timeout=30_000)

    # MARK: Queries of the page

    def ask(self, expression, argument=None):
        return self.page.evaluate(expression, argument)

    def frame(self):
        """Waits until the page has drawn."""
        self.ask("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def view(self):
        view = self.ask("timeline.view()")
        return view["from"], view["to"]

    def reset(self):
        self.page.mouse.move(5, 5)
        self.page.keyboard.press("Escape")
        self.ask("timeline.setView(0, Infinity); document.querySelector('#scroller').scrollTop = 0")
        self.frame()

    def chart(self):
        return self.page.locator("#chart").bounding_box()

    def at(self, span):
        """Returns the middle of the visible part of a span, in window coordinates."""
        box, place = self.chart(), self.ask("(at) => timeline.rect(at)", span)
        left = max(place["x"], self.ask("timeline.gutter"))
        right = min(place["x"] + place["width"], box["width"])
        return box["x"] + (left + right) / 2, box["y"] + place["y"] + place["height"] / 2

    def tip(self):
        tip = self.page.locator("#tip")
        return tip.inner_text() if tip.is_visible() else ""

    def column(self, number):
        return self.page.locator(f"#items tbody td:nth-child({number})").all_inner_texts()

    # MARK: Checks

    def opened(self):
        options, counts = self.options, self.ask("timeline.counts")
        heading = self.page.locator("h1").inner_text()
        self.that("the title names the program", heading and heading in self.page.title(), self.page.title())
        facts = self.page.locator("#facts span").all_inner_texts()
        for wanted in (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC", r"\d[\d.]* (s|ms|µs|ns)", r"\d+ loops?"):
            self.that("start, duration and loops are shown", any(re.fullmatch(wanted, fact) for fact in facts), facts)
        self.that("spans were read", counts["spans"] > 0, counts)
        self.that("items", counts["items"] >= options.items, counts)
        if options.loops is not None:
            self.that("loops", counts["loops"] == options.loops, counts)
        heads = self.page.locator("#heads button").count()
        self.that("each loop has a group", heads == counts["loops"], heads)
        rows = self.page.locator("#items tbody tr").count()
        self.that("the table lists the items", rows == min(counts["items"], 300), rows)
        kinds = {lane["type"] for lane in self.ask("timeline.lanes()")}
        self.that("there are lanes of loops and items", {"head", "depth", "item"} <= kinds, kinds)
        label = self.page.locator("#chart").get_attribute("aria-label")
        role = self.page.locator("#chart").get_attribute("role")
        self.that("the chart has a role and a name", role and label, (role, label))
        self.that("something is drawn", self.colours() > 8, self.colours())
        title = self.page.locator("#heads button").all_inner_texts()
        self.that("groups have names", all(text.strip() for text in title), title)
        if options.lost:
            said = self.ask("[...document.querySelectorAll('#heads button')].map((head) => head.title).join('\\n')")
            self.that("overwritten records are shown", "overwritten" in said, said)

    def colours(self):
        return self.ask("""() => {
            const chart = document.querySelector("#chart"), pen = chart.getContext("2d");
            const { data } = pen.getImageData(0, 0, chart.width, chart.height), seen = new Set();
            for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
            return seen.size;
        }""")

    def mouse(self):
        self.reset()
        box, mouse = self.chart(), self.page.mouse
        gutter, (_, whole) = self.ask("timeline.gutter"), self.view()
        for part, turn in ((0.3, -400), (0.8, -300), (0.55, -600), (0.5, 200)):
            x = gutter + part * (box["width"] - gutter)
            before, time = self.view(), self.ask("(x) => timeline.timeAt(x)", x)
            mouse.move(box["x"] + x, box["y"] + 120)
            mouse.wheel(0, turn)
            self.page.wait_for_timeout(60)
            self.frame()
            view, now = self.view(), self.ask("(x) => timeline.timeAt(x)", x)
            size, was = view[1] - view[0], before[1] - before[0]
            self.that("the wheel zooms", size < 0.8 * was if turn < 0 else size > 1.2 * was, (before, view))
            pixel = size / (box["width"] - gutter)
            self.that("the time at the pointer stays there", abs(now - time) < pixel, (time, now, pixel))
        before = self.view()
        # The drag does not move the scroller.
        start = box["x"] + gutter + 400
        mouse.move(start, box["y"] + 120)
        mouse.down()
        mouse.move(start - 90, box["y"] + 120, steps=4)
        mouse.up()
        self.frame()
        view, pixel = self.view(), (before[1] - before[0]) / (box["width"] - gutter)
        self.that("dragging moves", abs(view[0] - before[0] - 90 * pixel) < 2 * pixel, (before, view))
        self.that("dragging does not zoom", abs(view[1] - view[0] - before[1] + before[0]) < 1, (before, view))
        self.ask("timeline.setView(-1e18, 1e18)")
        self.frame()
        self.that("it does not go beyond the records", self.view() == (0, whole), self.view())
        strip = self.page.locator("#overview").bounding_box()
        self.ask("(whole) => timeline.setView(0, whole / 10)", whole)
        mouse.click(strip["x"] + 0.7 * strip["width"], strip["y"] + 20)
        self.frame()
        middle = sum(self.view()) / 2
        self.that("the overview moves the view", abs(middle - 0.7 * whole) < whole / 50, middle)

    def keys(self):
        self.reset()
        press, whole = self.page.keyboard.press, self.view()
        for _ in range(200):
            if self.ask("document.activeElement.id") == "chart":
                break
            press("Tab")
        self.that("Tab comes to the chart", self.ask("document.activeElement.id") == "chart")
        ring = self.ask("getComputedStyle(document.querySelector('#chart')).outlineStyle")
        self.that("it has a focus ring", ring == "solid", ring)

        def change(key):
            before = self.view()
            press(key)
            self.frame()
            after = self.view()
            return (after[1] - after[0]) / (before[1] - before[0]), after[0] - before[0]

        for key in ("+", "w", "="):
            found = change(key)
            self.that(f"{key} zooms in", found[0] < 0.8, found)
        for key in ("ArrowRight", "d"):
            found = change(key)
            self.that(f"{key} moves on", abs(found[0] - 1) < 1e-6 and found[1] > 0, found)
        for key in ("ArrowLeft", "a"):
            found = change(key)
            self.that(f"{key} moves back", abs(found[0] - 1) < 1e-6 and found[1] < 0, found)
        for key in ("-", "s"):
            found = change(key)
            self.that(f"{key} zooms out", found[0] > 1.2, found)
        for key in ("0", "Home"):
            press("+")
            press(key)
            self.frame()
            self.that(f"{key} shows all", self.view() == whole, self.view())
        scroller = "document.querySelector('#scroller')"
        top, room = f"{scroller}.scrollTop", self.ask(f"{scroller}.scrollHeight - {scroller}.clientHeight")
        press("ArrowDown")
        self.that("the arrow down scrolls", self.ask(top) > 0 or room <= 0, room)
        press("ArrowUp")
        self.that("the arrow up scrolls back", self.ask(top) == 0, self.ask(top))

        press("n")
        self.frame()
        first, longest = self.ask("timeline.selected"), self.ask("(type) => timeline.longest(type, 2)", CALLOUT)
        self.that("n goes to the longest callout", first == longest[0], (first, longest))
        self.that("the selected span has a tooltip", self.ask("(at) => timeline.span(at).name", first) in self.tip(),
                  self.tip())  # fmt: skip
        said = self.page.locator("#live").text_content()
        self.that("the selected span is described", "duration" in said and "depth" in said, said)
        if len(longest) > 1:
            press("n")
            self.that("n goes on", self.ask("timeline.selected") == longest[1], self.ask("timeline.selected"))
            press("p")
            self.that("p goes back", self.ask("timeline.selected") == longest[0], self.ask("timeline.selected"))
        press("Escape")
        self.frame()
        self.that("Escape selects nothing", self.ask("timeline.selected") is None and not self.tip(), self.tip())
        press(".")
        self.frame()
        one = self.ask("timeline.selected")
        self.that("a full stop selects", one is not None and self.tip(), one)
        press("/")
        self.page.keyboard.type("w+")
        self.that("keys in the filter are text", self.page.input_value("#filter") == "w+")
        self.page.fill("#filter", "")

    def hover(self):
        self.reset()
        self.page.keyboard.press("Escape")
        for at in self.ask("(type) => timeline.longest(type, 400)", CALLOUT)[::37][:6]:
            span = self.ask("(at) => timeline.span(at)", at)
            self.ask("(at) => { timeline.select(at, { zoom: true, show: true }); timeline.select(null); }", at)
            self.frame()
            x, y = self.at(at)
            self.page.mouse.move(x - 30, y)
            self.page.mouse.move(x, y)
            self.frame()
            tip = self.tip()
            missing = [word for word in (span["name"][:40], "kind", "begin", "duration", "depth") if word not in tip]
            self.that("a callout's tooltip has it all", not missing, (missing, tip))
            self.that("it has the duration", self.ask(SAID, span["length"]) in tip, (span, tip))
            box = self.chart()
            hit = self.ask("([x, y]) => timeline.hitTest(x, y)?.index", [x - box["x"], y - box["y"]])
            self.that("a hit finds the drawn span", hit == at, (hit, at))
            self.page.mouse.move(5, 5)
            self.frame()
            self.that("the tooltip goes with the pointer", not self.tip(), self.tip())
        for at in self.ask("(type) => timeline.longest(type, 1)", SLEEP):
            self.ask("(at) => { timeline.select(at, { zoom: true, show: true }); timeline.select(null); }", at)
            self.frame()
            self.page.mouse.move(*self.at(at))
            self.frame()
            tip = self.tip()
            self.that("a sleep's tooltip shows its end", tip.startswith("Sleep") and "ended by" in tip, tip)
        self.reset()
        for kind, wanted in (("stages", "clock"), ("others", "sent"), ("modes", "Run of the loop")):
            lane = next((lane for lane in self.ask("timeline.lanes()") if lane["type"] == kind), None)
            box = self.chart()
            if not lane or not 0 < lane["y"] < box["height"] - lane["height"]:
                continue
            y = lane["y"] + lane["height"] / 2
            x = self.ask("""([y, width]) => {
                for (let x = timeline.gutter + 1; x < width; x++) if (timeline.hitTest(x, y)) return x;
            }""", [y, box["width"]])  # fmt: skip
            if x is None:
                continue
            self.page.mouse.move(box["x"] + x, box["y"] + y)
            self.frame()
            self.that(f"the lane of {kind} has tooltips", wanted in self.tip(), self.tip())
        longest = self.ask("(type) => timeline.longest(type, 1)", CALLOUT)[0]
        self.ask("(at) => timeline.select(at, { zoom: true, show: true })", longest)
        size = self.view()[1] - self.view()[0]
        self.ask("(size) => timeline.setView(timeline.view().from - size, timeline.view().to + size)", size)
        self.page.keyboard.press("Escape")
        self.frame()
        self.page.mouse.dblclick(*self.at(longest))
        self.frame()
        view = self.view()
        self.that("a double click zooms to the span", abs(view[1] - view[0] - size) < 2, (size, view))
        self.that("and selects it", self.ask("timeline.selected") == longest, self.ask("timeline.selected"))

    def stalls(self):
        self.reset()
        buttons = self.page.locator("#stalls button")
        if self.options.stall is None:
            return
        self.that("there is a stall in the list", buttons.count() > 0, buttons.count())
        first = buttons.first
        self.that("it has its label", self.options.stall in first.inner_text(), first.inner_text())
        first.click()
        self.frame()
        at = self.ask("timeline.selected")
        span, view = self.ask("(at) => timeline.span(at)", at), self.view()
        self.that("a click selects it", self.options.stall in span["name"], span)
        self.that("and zooms", view[0] <= span["begin"] and span["begin"] + span["length"] <= view[1]
                  and view[1] - view[0] < 2 * span["length"], (span, view))  # fmt: skip
        tip = self.tip()
        self.that("the tooltip names the stall", self.options.stall in tip and "a stall" in tip, tip)
        place = self.ask("(at) => timeline.rect(at)", at)
        self.that("its lane is in sight", 0 < place["y"] < self.chart()["height"] - place["height"], place)
        x, y = (int(place["x"] + place["width"] - 6), int(place["y"] + place["height"] / 2))
        red, green, blue = self.ask("""([x, y]) => [...document.querySelector("#chart").getContext("2d")
            .getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].slice(0, 3)""", [x, y])  # fmt: skip
        self.that("it is red", red > 180 and red > green + 60 and red > blue + 60, (red, green, blue))
        chosen = self.page.locator("#items tr.chosen")
        self.that("its row is marked", chosen.count() == 1 and self.options.stall in chosen.inner_text())
        few = len(self.ask("timeline.stalls"))
        self.page.fill("#threshold", "0.001")
        many = len(self.ask("timeline.stalls"))
        self.page.fill("#threshold", "86400000")
        none = len(self.ask("timeline.stalls"))
        self.page.fill("#threshold", "100")
        again = len(self.ask("timeline.stalls"))
        self.that("the threshold is obeyed", many >= few > none == 0 and again == few, (many, few, none, again))

    def table(self):
        self.reset()
        heads = self.page.locator("#items th button")

        def figures(number):
            texts = self.column(number)
            return [int(text.replace(",", "")) for text in texts]

        totals = [nanoseconds(text) for text in self.column(4)]
        self.that("it comes ordered by total time", totals == sorted(totals, reverse=True), totals[:9])
        heads.nth(2).click()
        calls = figures(3)
        self.that("a click sorts by calls", calls == sorted(calls, reverse=True), calls)
        sort = self.page.locator("#items th").nth(2).get_attribute("aria-sort")
        self.that("and says so", sort == "descending", sort)
        heads.nth(2).click()
        calls = figures(3)
        self.that("another click turns it around", calls == sorted(calls), calls)
        heads.nth(0).click()
        names = self.page.locator("#items tbody button").all_text_contents()
        order = self.ask("(names) => names.slice().sort((a, b) => a.localeCompare(b, 'en'))", names)
        self.that("names are sorted from a to z", names == order, names[:9])
        heads.nth(3).click()
        row = self.page.locator("#items tbody tr").first
        name = row.locator("button").text_content()
        row.click()
        self.frame()
        span = self.ask("timeline.span(timeline.selected)")
        self.that("a click on a row goes to a callout of it", span["name"] == name, (span, name))
        self.that("to its longest", abs(nanoseconds(self.column(6)[0]) - span["own"]) <= span["own"] / 100, span)

    def filter(self):
        self.reset()
        all_lanes = len(self.ask("timeline.lanes()"))
        name = self.page.locator("#items tbody button").nth(0).inner_text()
        word = re.split(r"\s", name)[0]
        self.page.fill("#filter", word.upper())
        self.frame()
        rows = self.page.locator("#items tbody tr").all_inner_texts()
        self.that("only matching rows are listed", rows and all(word.lower() in row.lower() for row in rows), rows)
        lanes = [lane for lane in self.ask("timeline.lanes()") if lane["type"] == "item"]
        self.that("only matching items have a lane", 0 < len(lanes) < all_lanes, len(lanes))
        self.page.fill("#filter", "there is no such item")
        self.frame()
        rest = self.page.locator("#rest").inner_text()
        self.that("the absence of a match is shown", "No item" in rest, rest)
        self.page.fill("#filter", "")
        self.frame()
        self.that("without a filter all is back", len(self.ask("timeline.lanes()")) == all_lanes)

    def groups(self):
        self.reset()
        lanes, head = len(self.ask("timeline.lanes()")), self.page.locator("#heads button").first
        head.click()
        self.frame()
        closed = len(self.ask("timeline.lanes()"))
        self.that("a group can be closed", closed < lanes and head.get_attribute("aria-expanded") == "false", closed)
        head.press("Enter")
        self.frame()
        opened = len(self.ask("timeline.lanes()"))
        self.that("and opened by a key", opened == lanes and head.get_attribute("aria-expanded") == "true", opened)

    def harmless(self):
        self.that("no label ran", self.ask("window.harmed === undefined"))
        odd = set(self.ask("[...document.body.querySelectorAll('*')].map((element) => element.localName)")) - TAGS
        self.that("no label made an element", not odd and self.ask("document.scripts.length") == 2, odd)
        longest = self.ask("""() => Math.max(...[...document.body.querySelectorAll("*:not(script)")].map((element) =>
            [...element.childNodes].filter((node) => node.nodeType === 3)
                .reduce((sum, node) => sum + node.data.length, 0)))""")  # fmt: skip
        self.that("long texts are cut", longest < 1000, longest)
        text = self.ask("document.body.innerText")
        odd = re.findall("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]", text)
        self.that("no control is shown", not odd, odd)
        table = self.page.locator("#items").inner_text()
        for wanted in self.options.shows:
            self.that("a label is shown as it is", wanted in table, wanted)

    def schemes(self):
        self.reset()
        found = {}
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.frame()
            found[scheme] = self.ask("""() => {
                const chart = document.querySelector("#chart").getContext("2d").getImageData(3, 3, 1, 1).data;
                const style = getComputedStyle(document.documentElement);
                const light = (name) => {
                    const colour = style.getPropertyValue("--" + name).trim();
                    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255)
                        .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
                    return .2126 * r + .7152 * g + .0722 * b;
                };
                const contrast = (a, b) => {
                    const [low, high] = [light(a), light(b)].sort((a, b) => a - b);
                    return (high + .05) / (low + .05);
                };
                return { chart: chart[0], page: getComputedStyle(document.body).backgroundColor,
                    contrasts: ["ink", "soft", "faint", "stall", "accent"].flatMap((name) =>
                        ["page", "panel", "raised", "tint"].map((back) => [name, back, contrast(name, back)])) };
            }""")
            weak = [pair for pair in found[scheme]["contrasts"] if pair[2] < 4.5]
            self.that(f"text is readable, {scheme}", not weak, weak)
        is_light, is_dark = found["light"]["chart"] > 200, found["dark"]["chart"] < 60
        self.that("the chart is light, and dark", is_light and is_dark, found)
        self.that("the page is light, and dark", found["light"]["page"] != found["dark"]["page"], found)
        self.page.emulate_media(color_scheme="light")

    def sizes(self):
        self.reset()
        for width, height in ((720, 600), (2200, 1300), (1360, 860)):
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.wait_for_timeout(80)
            self.frame()
            over = self.ask("document.documentElement.scrollWidth - innerWidth")
            fits = self.ask("Math.abs(document.querySelector('#chart').clientWidth"
                            " - document.querySelector('#scroller').clientWidth)")  # fmt: skip
            self.that(f"the page fits into {width} by {height}", over <= 0 and fits < 1, (over, fits))

    def speed(self):
        self.reset()
        first = self.ask("timeline.firstFrame")
        # On a busy machine, one success in three attempts is enough.
        for _ in range(2 if self.options.speed else 0):
            if first > FIRST_FRAME / 2:
                self.load()
                first = min(first, self.ask("timeline.firstFrame"))
        # Reading a pixel makes the browser finish drawing.
        times = self.ask("""() => {
            const pen = document.querySelector("#chart").getContext("2d"), times = [];
            const { to } = timeline.view();
            for (let part = 1; part > 1e-4; part /= 1.7) {
                const start = performance.now();
                timeline.setView(.4 * to * (1 - part), .4 * to * (1 - part) + to * part);
                timeline.draw();
                pen.getImageData(5, 5, 1, 1);
                times.push(performance.now() - start);
            }
            return times;
        }""")
        counts, middle = self.ask("timeline.counts"), statistics.median(times)
        print(f"page-check: {counts['spans']} spans: first frame after {first:.0f} ms, a zoom is drawn in"
              f" {middle:.0f} ms (median of {len(times)}), {max(times):.0f} ms at most")  # fmt: skip
        if self.options.speed:
            self.that(f"the first frame comes within {FIRST_FRAME} ms", 0 < first < FIRST_FRAME, first)
            self.that(f"a zoom is drawn within {REDRAW} ms", middle < REDRAW, times)

    def pictures(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.reset()
            self.ask("document.activeElement.blur()")
            self.page.screenshot(path=folder / f"overview-{scheme}.png")
            first = self.ask("(type) => timeline.longest(type, 1)", CALLOUT)
            stalls = self.ask("timeline.stalls") or first
            if not stalls:
                continue
            self.ask("(at) => timeline.select(at, { zoom: true, show: true })", stalls[0])
            self.page.wait_for_timeout(100)
            self.frame()
            self.page.screenshot(path=folder / f"stall-{scheme}.png")

    def message(self):
        shown = self.page.locator("#message")
        self.that("a message is shown", shown.is_visible() and self.options.message in shown.inner_text(),
                  self.page.inner_text("body"))  # fmt: skip
        self.that("and no timeline", not self.page.locator("main").is_visible())
        self.that("no label made an element", self.page.locator("#message *").count() == 2)

    def all(self):
        if self.options.message:
            return self.message()
        self.opened()
        if self.options.speed:
            return self.speed()
        for part in (self.mouse, self.keys, self.hover, self.stalls, self.table, self.filter, self.groups,
                     self.harmless, self.schemes, self.sizes, self.speed):  # fmt: skip
            part()
        if self.options.pictures:
            self.pictures(self.options.pictures)


# The tags of the page itself.
TAGS = set(
    "b body button canvas dd details div dl dt h1 h2 header i input kbd label li main ol p script section small span"
    " strong summary table tbody td th thead tr ul".split()
)
# Formats a time span like the page.
SAID = """(ns) => {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => ns >= .9995 * size)
        ?? [1, "ns"], value = ns / size;
    return value.toFixed(size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + " " + unit;
}"""


def nanoseconds(text):
    value, unit = text.split()
    return float(value) * {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}[unit]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--stall")
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--loops", type=int)
    parser.add_argument("--shows", action="append", default=[])
    parser.add_argument("--lost", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--message")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    address = options.page.resolve().as_uri()
    with sync_playwright() as playwright:
        root = os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if root else [])
        context = browser.new_context(viewport={"width": 1360, "height": 860}, color_scheme="light", offline=True)
        page = context.new_page()
        requests, errors = [], []

        def route(route):
            if route.request.url == address:
                return route.continue_()
            return route.abort()

        def hear(said):
            # The check itself causes this warning, because it reads pixels.
            if said.type in ("error", "warning") and "willReadFrequently" not in said.text:
                errors.append(said.text)

        context.route("**/*", route)
        context.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", hear)
        check = Check(page, options)
        check.load()
        check.all()
        other = [url for url in requests if url != address and not url.startswith("data:")]
        check.that("nothing is loaded", not other, other)
        check.that("no error in the console", not errors, errors)
        browser.close()
    print(f"page-check: {check.count} checks, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
