"""Draws lines over a logarithmic axis as SVG text, which is read in light and in dark alike."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 44, 40
TICKS = 4
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 } .axis, .grid { stroke: #8c959f; fill: none } .grid { opacity: .35 }
.a { stroke: #0a58ca } .b { stroke: #b35900 } .line { fill: none; stroke-width: 2 } .dash { stroke-dasharray: 5 4 }
.a.dot, .a.name { fill: #0a58ca } .b.dot, .b.name { fill: #b35900 } .name { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .a { stroke: #79b8ff } .b { stroke: #ffab70 }
  .a.dot, .a.name { fill: #79b8ff } .b.dot, .b.name { fill: #ffab70 }
}
</style>"""


Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """`lines`: by name, points of x and y, and of a second, dashed line that has no name of its own."""

    title: str
    x_name: str
    lines: Mapping[str, Sequence[Points]]


def svg(charts: Sequence[Chart], columns: int = 2) -> str:
    rows = math.ceil(len(charts) / columns)
    size = f'width="{columns * WIDTH}" height="{rows * HEIGHT}" viewBox="0 0 {columns * WIDTH} {rows * HEIGHT}"'
    drawn = "\n".join(
        f'<g transform="translate({number % columns * WIDTH} {number // columns * HEIGHT})">\n{_chart(chart)}\n</g>'
        for number, chart in enumerate(charts)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{STYLE}\n{drawn}\n</svg>\n'


def _chart(chart: Chart) -> str:
    points = [point for lines in chart.lines.values() for line in lines for point in line]
    xs, top = sorted({x for x, _ in points}), _round_up(max(y for _, y in points))
    parts = [f'<text class="title" x="{LEFT}" y="16">{escape(chart.title)}</text>']
    for tick in range(TICKS + 1):
        y = _y(top * tick / TICKS, top)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * tick / TICKS:,.0f}</text>')
    for x in xs:
        parts.append(f'<text x="{_x(x, xs):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:,.0f}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(chart.x_name)}</text>')
    at = LEFT
    for kind, (name, lines) in zip("ab", chart.lines.items(), strict=False):
        for dash, line in zip(("", " dash"), lines, strict=False):
            parts += _line(kind, dash, [(_x(x, xs), _y(y, top)) for x, y in line])
        parts.append(f'<text class="name {kind}" x="{at}" y="34">{escape(name)}</text>')
        at += 7 * len(name) + 14
    return "\n".join(parts)


def _line(kind: str, dash: str, points: Points) -> list[str]:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = [f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    return [f'<path class="line {kind}{dash}" d="M{path}"/>', *dots]


def _x(x: float, xs: Sequence[float]) -> float:
    """The axis is logarithmic."""
    span = math.log(xs[-1] / xs[0]) or 1.0
    return LEFT + 12 + (WIDTH - LEFT - RIGHT - 24) * math.log(x / xs[0]) / span


def _y(y: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / top


def _round_up(value: float) -> float:
    """To a number that quarters well."""
    step = 10.0 ** math.floor(math.log10(max(value, 1.0)))
    return next(step * nice for nice in (1, 2, 4, 6, 8, 10, 20) if step * nice >= value)
