"""Pure: cursors, which say where a reader goes on: the next offset of each partition, as a short text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from ottla.http.server.errors import HttpError

_MOST_CHARACTERS = 200_000


def cursor_text(offsets: Mapping[int, int]) -> str:
    """The cursor of some partitions."""
    text = ",".join(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def read_cursor(text: str) -> dict[int, int]:
    """The offsets of a cursor; HttpError if it is none."""
    try:
        if len(text) > _MOST_CHARACTERS:
            raise ValueError(text[:10])
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
        found = {}
        for part in data.split(","):
            partition, _, offset = part.partition(":")
            if not (partition.isdigit() and offset.isdigit() and len(part) < 40):
                raise ValueError(part)
            found[int(partition)] = min(int(offset), 2**63 - 1)
    except (ValueError, binascii.Error, UnicodeDecodeError):
        raise HttpError(400, "the cursor is none that this service gave", code=400) from None
    return found
