"""Pure: Suppressed: how long a table's changes are held back."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.streams.errors import TopologyError


@dataclass(frozen=True)
class Suppressed:
    """Made by `until_window_closes` or `until_time_limit`."""

    time_limit_ms: int | None = None
    """None: until the window closes."""
    max_records: int | None = None

    @staticmethod
    def until_window_closes() -> Suppressed:
        """Hand on only the last result of each window, once nothing can change it."""
        return Suppressed()

    @staticmethod
    def until_time_limit(time_limit_ms: int, max_records: int | None = None) -> Suppressed:
        """Hand on the last change of a key, a time after the first that was held back.

        With `max_records`, the oldest is handed on early when more keys than that wait.
        """
        if time_limit_ms < 0 or (max_records is not None and max_records < 1):
            raise TopologyError(
                "Suppressed.until_time_limit: the time must not be negative, max_records at least 1"
            )
        return Suppressed(time_limit_ms, max_records)
