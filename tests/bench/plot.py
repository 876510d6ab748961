# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of bench/run's series: cost against rails, cost against unrelated routes. Plain SVG, for light and dark pages."""

import math

WIDTH, HEIGHT = 860, 330
LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, GAP = 62, 46, 330, 220, 90
# Each with enough contrast on white and on black.
COLOURS = {"ib-hook": "#d9480f", "ip -batch": "#1c7ed6", "the kernel alone": "#868e96", "ib-hook, nothing to do": "#2b8a3e"}
INK, GRID = "#808890", "#80889055"


def text(x, y, words, anchor="middle", size=12, colour=INK, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{extra}>{words}</text>'


def decades(low, high):
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


class Panel:
    def __init__(self, left, xs, ys):
        self.left, self.xs = left, xs
        ticks = decades(min(ys), max(ys))
        self.ticks, self.bottom, self.top = ticks, math.log10(ticks[0]), math.log10(ticks[-1])

    def x(self, value):
        """Logarithmic; nothing at all stands a decade before the first that is something."""
        least = self.xs[0] or self.xs[1] / 10
        return self.left + PANEL_WIDTH * math.log(max(value, least) / least) / math.log(self.xs[-1] / least)

    def y(self, value):
        return TOP + PANEL_HEIGHT * (self.top - math.log10(value)) / max(self.top - self.bottom, 1)

    def frame(self, title, x_label, y_label):
        yield text(self.left + PANEL_WIDTH / 2, TOP - 24, title, size=14, extra=' font-weight="bold"')
        for tick in self.ticks:
            yield f'<path d="M{self.left} {self.y(tick):.1f}h{PANEL_WIDTH}" stroke="{GRID}"/>'
            yield text(self.left - 6, self.y(tick) + 4, f"{tick:g}", "end")
        for value in self.xs:
            yield f'<path d="M{self.x(value):.1f} {TOP}v{PANEL_HEIGHT}" stroke="{GRID}"/>'
            yield text(self.x(value), TOP + PANEL_HEIGHT + 18, f"{value:,}")
        yield text(self.left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 38, x_label)
        middle = TOP + PANEL_HEIGHT / 2
        turned = f' transform="rotate(-90 {self.left - 42} {middle})"'
        yield text(self.left - 42, middle, y_label, extra=turned)

    def line(self, points, colour):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        for x, y in points:
            at = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}"'
            yield f'<circle {at} r="4" fill="{colour}"><title>{x:,}: {y:.2f}</title></circle>'

    def legend(self, names):
        for i, name in enumerate(names):
            colour = COLOURS[name]
            y = TOP + 14 + 18 * i
            yield f'<path d="M{self.left + 10} {y - 4}h18" stroke="{colour}" stroke-width="2.5"/>'
            yield text(self.left + 34, y, name, "start", colour=colour)


def panel(left, lines, title, x_label, y_label):
    xs = [x for x, _ in next(iter(lines.values()))]
    drawn = Panel(left, xs, [y for points in lines.values() for _, y in points])
    yield from drawn.frame(title, x_label, y_label)
    for name, points in lines.items():
        yield from drawn.line(points, COLOURS[name])
    yield from drawn.legend(lines)


def picture(report):
    second = LEFT + PANEL_WIDTH + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        "<title>What ib-hook costs against the number of rails, and of unrelated routes</title>",
        *panel(LEFT, report["series"]["rails"], "All rails from nothing, one run", "rails", "times ip -batch for one rail"),
        *panel(second, report["series"]["routes"], "An event", "unrelated routes in main",
               "times ib-hook without them"),
        text(WIDTH - 8, HEIGHT - 6, f"{report['date']}, {report['commit']}: make bench", "end", 10),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
