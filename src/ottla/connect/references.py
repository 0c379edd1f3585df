"""Secrets by reference, as Kafka's config providers have them: ${env:NAME}, ${file:PATH:KEY}.

Configurations travel and are stored with their references; only the process that uses a value resolves it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ottla.config.properties import parse_properties
from ottla.connect.errors import ConfigInvalid

_REFERENCE: Final = re.compile(r"\$\{(env|file):([^}:]*)(?::([^}]*))?\}")


def resolved(settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return settings with their references replaced; ConfigInvalid names what cannot be."""
    problems: dict[str, list[str]] = {}
    found: dict[str, str | None] = {}
    for name, value in settings.items():
        try:
            found[name] = None if value is None else _REFERENCE.sub(_value, value)
        except LookupError as missing:
            problems[name] = [f"Invalid value {value} for configuration {name}: {missing.args[0]}"]
    if problems:
        raise ConfigInvalid(problems)
    return found


def _value(reference: re.Match[str]) -> str:
    provider, place, key = reference[1], reference[2], reference[3]
    if provider == "env":
        if place not in os.environ:
            raise LookupError(f"the environment has no variable {place}")
        return os.environ[place]
    try:
        properties = parse_properties(Path(place).read_text())
    except OSError as error:
        raise LookupError(f"the file {place} cannot be read: {error.strerror}") from None
    if key not in properties:
        raise LookupError(f"the file {place} has no key {key}")
    return properties[key]
