"""Kafka's formatters for the topics of coordinators: a JSON object for each record.

Differs from Kafka: each object ends with a newline, where Kafka writes all of them on one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ottla.base.errors import ProtocolError
from ottla.cli.kafka.coordinator_json import as_json, offsets_record, transaction_record
from ottla.client.consumer_record import ConsumerRecord
from ottla.coordination.groups import offset_records, records

_VERSION_BYTES: Final = 2


def offsets_format(*, commits: bool) -> Callable[[ConsumerRecord], bytes]:
    """Commits of `__consumer_offsets`, or else the classic groups in it; other records print nothing."""
    kinds = offset_records.KEY_VERSIONS if commits else (records.GROUP_KEY_VERSION,)

    def show(record: ConsumerRecord) -> bytes:
        if record.key is None or _version(record.key) not in kinds:
            return b""
        key, value = _numbered(*offsets_record(record.key, record.value))
        if not commits and record.value is not None:
            # Here members' subscriptions are shown as the bytes that they are.
            found = records.decode_group_value(record.value)
            value["data"] = as_json(found, value["version"])
        return _line(key, value)

    return show


def transactions_format(record: ConsumerRecord) -> bytes:
    """What coordinators of transactions keep in `__transaction_state`."""
    if record.key is None:
        return b""
    try:
        return _line(*_numbered(*transaction_record(record.key, record.value)))
    except ProtocolError:
        return b""


def _version(data: bytes) -> int:
    return int.from_bytes(data[:_VERSION_BYTES], signed=True)


def _numbered(key_text: str, value_text: str) -> tuple[Any, Any]:
    key = json.loads(key_text)
    key["type"] = int(key["type"])
    if not value_text.startswith("{"):
        return key, None
    value = json.loads(value_text)
    value["version"] = int(value["version"])
    return key, value


def _line(key: Any, value: Any) -> bytes:
    return json.dumps({"key": key, "value": value}, separators=(",", ":")).encode() + b"\n"
