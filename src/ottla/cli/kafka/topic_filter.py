"""Pure: which topics a person means by `--topic`: a name, or names and patterns with commas between."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ottla.cli.kafka.options import Failed


def matching(topics: Iterable[str], wanted: str | None) -> list[str]:
    """The topics whose whole name matches, sorted; all where nothing is asked for."""
    if wanted is None:
        return sorted(topics)
    accepted = pattern(wanted)
    return sorted(topic for topic in topics if accepted.fullmatch(topic))


def pattern(wanted: str) -> re.Pattern[str]:
    """What Kafka's tools make of a list of names: alternatives, without blanks and quotes."""
    text = wanted.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(text)
    except re.error:
        raise Failed(f"{text} is an invalid regex.") from None
