"""Pure: what ottla.streams raises."""

from __future__ import annotations

from ottla.base.errors import OttlaError


class StreamsError(OttlaError):
    """Anything that ottla.streams raises on purpose."""


class TopologyError(StreamsError):
    """A topology that cannot be built: the sentence names the operator and the way out."""


class RecordError(StreamsError):
    """A record that cannot be read, processed or written: what `on_error` of its operator decides about."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"{operator}: {reason}")
        self.operator = operator
        self.reason = reason
        self.fatal = False
        """True if the application stops for it: no operator above may skip it."""
