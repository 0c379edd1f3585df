"""Pure: record values that look and compress like application events, the same in every run."""

from __future__ import annotations

import json
from itertools import cycle, islice

FIRST = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath")
SECOND = ("order", "shipment", "payment", "refund", "invoice", "basket", "visit")
MULTIPLIER, MODULUS = 48_271, 2_147_483_647


def sample_values(count: int, size: int) -> list[bytes]:
    """Distinct JSON-like values of exactly `size` bytes."""
    values, state = [], 1
    for number in range(count):
        state = state * MULTIPLIER % MODULUS
        values.append(_event(number, state, size))
    return values


def _event(number: int, state: int, size: int) -> bytes:
    event = {
        "id": number,
        "user": state,
        "kind": SECOND[state % len(SECOND)],
        "place": FIRST[state % len(FIRST)],
    }
    text = json.dumps(event).encode()
    if len(text) < size:
        text += bytes(islice(cycle(f" {state:x}{number:x}".encode()), size - len(text)))
    return text[:size]
