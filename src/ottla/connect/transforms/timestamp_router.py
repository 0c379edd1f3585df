"""TimestampRouter: put the record's time into the name of its topic."""

from __future__ import annotations

from typing import Any

from ottla.connect.data.date_format import PatternInvalid, check_pattern, format_instant
from ottla.connect.data.record import Record
from ottla.connect.data.schema import Instant
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.transform import Transform


def _is_pattern(name: str, value: Any) -> str | None:
    try:
        check_pattern(value)
    except PatternInvalid as wrong:
        return str(wrong)
    return None


class TimestampRouter(Transform):
    """Routes by time, in UTC."""

    options = Options(
        (
            Option(
                name="topic.format",
                kind=Kind.STRING,
                default="${topic}-${timestamp}",
                importance=Importance.HIGH,
                doc="The new name, with ${topic} and ${timestamp}.",
            ),
            Option(
                name="timestamp.format",
                kind=Kind.STRING,
                default="yyyyMMdd",
                importance=Importance.HIGH,
                check=_is_pattern,
                doc="A pattern of SimpleDateFormat.",
            ),
        )
    )

    def apply(self, record: Record) -> Record:
        """Return the record with its topic changed."""
        if record.timestamp_ms is None:
            raise DataInvalid(f"Timestamp missing on record: {record.topic}")
        at = format_instant(self.settings["timestamp.format"], Instant(record.timestamp_ms))
        name = self.settings["topic.format"].replace("${topic}", record.topic)
        return record._replace(topic=name.replace("${timestamp}", at))
