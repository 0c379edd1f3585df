"""Pure: small pictures of rates as SVG, without a style or script in them."""

from __future__ import annotations

from html import escape
from typing import Final

from ottla.http.sampling.series import MINUTES, Point, Series

_HEIGHT: Final = 30


class Svg(str):
    """Markup that templates do not escape."""

    def __html__(self) -> str:
        return self


def spark(series: Series, label: str) -> Svg:
    """A line as high as a row, of the last hour."""
    return _drawn(list(series.minutes), series.minutes.maxlen or MINUTES, label, "spark")


def chart(series: Series, label: str) -> Svg:
    """The same as large as its card."""
    return _drawn(list(series.minutes), series.minutes.maxlen or MINUTES, label, "chart")


def _drawn(points: list[Point], width: int, label: str, kind: str) -> Svg:
    most = max((each.per_second for each in points), default=0.0) or 1.0
    first = width - len(points)
    places = [
        f"{first + at} {_HEIGHT - 1 - each.per_second / most * (_HEIGHT - 3):.1f}"
        for at, each in enumerate(points)
    ]
    paths = (
        f'<path class="base" d="M0 {_HEIGHT - 0.5} L{width - 1} {_HEIGHT - 0.5}"/>'
        if kind == "chart"
        else ""
    )
    if len(places) > 1:
        line = "M" + " L".join(places)
        area = f"{line} L{width - 1} {_HEIGHT} L{first} {_HEIGHT} Z"
        paths += f'<path class="area" d="{area}"/><path class="line" d="{line}"/>'
    return Svg(
        f'<svg class="{kind}" viewBox="0 0 {width - 1} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label, quote=True)}">{paths}</svg>'
    )
