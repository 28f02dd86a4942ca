# SPDX-License-Identifier: Apache-2.0
"""Two kinds of pictures, both on logarithmic scales: points in rows, and curves in panels."""
import math

COLOURS = ["#d1242f", "#e8863a", "#0969da", "#1a7f37", "#8250df", "#57606a", "#bf3989", "#9a6700", "#00a3bf", "#84cc16"]
FONT = 'font-family="system-ui, sans-serif"'


def text(x, y, content, size=12, anchor="start", fill="#1f2328", weight="normal"):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s" font-weight="%s">%s</text>' % (
        x, y, size, anchor, fill, weight, content.replace("&", "&amp;").replace("<", "&lt;"))


def line(x1, y1, x2, y2, colour="#d0d7de", width=1.0):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"/>' % (
        x1, y1, x2, y2, colour, width)


def point(x, y, colour, title):
    return '<circle cx="%.1f" cy="%.1f" r="5" fill="%s" fill-opacity="0.85"><title>%s</title></circle>' % (
        x, y, colour, title)


def legend(names, colours, x, y):
    parts = []
    for name in names:
        parts += [point(x, y - 4, colours[name], name), text(x + 10, y, name)]
        x += 34 + 7 * len(name)
    return parts


def heading(title, note, names, colours):
    return [
        text(16, 28, title, 17, weight="bold"), text(16, 48, note, 12, fill="#57606a"),
        *legend(names, colours, 24, 72),
    ]


def picture(width, height, parts):
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" %s>' % (
        width, height, width, height, FONT)
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def nice(number):
    return "%.3g" % number if number < 1000 else f"{number:,.0f}"


def rows(title, unit, data, names):
    """data: [(row, {name: value})]. Each row's points are relative to its first name's."""
    left, right, top, step = 210, 40, 84, 30
    width, height = 860, top + step * len(data) + 44
    colours = dict(zip(names, COLOURS))
    ratios = [value / values[names[0]] for _, values in data for value in values.values()]
    low, high = math.floor(math.log10(min(ratios)) * 2) / 2, math.ceil(math.log10(max(ratios)) * 2) / 2

    def place(ratio):
        return left + (math.log10(ratio) - low) / (high - low) * (width - left - right)

    parts = heading(title, unit, names, colours)
    bottom = top + step * len(data)
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = place(10**power)
        parts.append(line(x, top, x, bottom, "#57606a" if power == 0 else "#d0d7de"))
        parts.append(text(x, bottom + 18, nice(10.0**power) + " x", 11, "middle"))
    for index, (row, values) in enumerate(data):
        y = top + step * index + step / 2
        parts += [line(left, y, width - right, y, "#eaeef2"), text(left - 12, y + 4, row, 12, "end")]
        # Draws the first name last, so that it is on top.
        for name in reversed(names):
            if name in values:
                x = place(values[name] / values[names[0]])
                parts.append(point(x, y, colours[name], "%s: %s" % (name, nice(values[name]))))
    return picture(width, height, parts)


def panels(title, note, data, names):
    """data: [(title, what n counts, {name: [(n, value)]})]."""
    columns, width, height = 2, 430, 260
    colours = dict(zip(names, COLOURS))
    parts = heading(title, note, names, colours)
    for index, (name, counted, curves) in enumerate(data):
        x0, y0 = (index % columns) * width + 76, 84 + (index // columns) * height + 30
        w, h = width - 100, height - 78
        points = [pair for curve in curves.values() for pair in curve]
        n_high = max(math.log10(max(n for n, _ in points)), 1)
        low = math.floor(math.log10(min(value for _, value in points)))
        high = max(math.ceil(math.log10(max(value for _, value in points))), low + 1)
        parts.append(text(x0, y0 - 10, name, 13, weight="bold"))
        for power in range(low, high + 1):
            y = y0 + h - (power - low) / (high - low) * h
            parts += [line(x0, y, x0 + w, y), text(x0 - 6, y + 4, nice(10.0**power), 10, "end")]
        for power in range(int(n_high) + 1):
            x = x0 + power / n_high * w
            parts += [line(x, y0, x, y0 + h), text(x, y0 + h + 15, nice(10.0**power), 10, "middle")]
        parts.append(text(x0 + w, y0 + h + 30, counted, 11, "end", "#57606a"))
        for name in names:
            placed = [
                (x0 + math.log10(n) / n_high * w, y0 + h - (math.log10(value) - low) / (high - low) * h)
                for n, value in curves.get(name, [])
            ]
            if placed:
                parts.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (
                    colours[name], " ".join("%.1f,%.1f" % pair for pair in placed)))
    return picture(columns * width + 10, 84 + (len(data) + 1) // columns * height + 10, parts)
