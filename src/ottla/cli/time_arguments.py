"""Times and durations as types of arguments: argparse prints the sentence of ArgumentTypeError alone."""

from __future__ import annotations

import argparse

from ottla.inspection import human_units


def duration_ms(text: str) -> int:
    """Milliseconds in 90s, 1h30m or 2d."""
    try:
        return human_units.duration_ms(text)
    except ValueError as flaw:
        raise argparse.ArgumentTypeError(str(flaw)) from None


def moment_ms(text: str) -> int:
    """Milliseconds since 1970 at a date and time, UTC unless a zone is given."""
    try:
        return human_units.moment_ms(text)
    except ValueError as flaw:
        raise argparse.ArgumentTypeError(str(flaw)) from None
