"""Pure: the records of `__consumer_offsets` and `__transaction_state` as the JSON that Kafka's tools print."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, Final
from uuid import UUID

from ottla.base.errors import ProtocolError
from ottla.base.ids import id_text
from ottla.coordination.groups import consumer_records, offset_records, records
from ottla.coordination.transactions.records import TransactionLogKey, TransactionLogValue
from ottla.protocol import consumer_protocol
from ottla.protocol.decoders import decoder
from ottla.protocol.schema import ZERO_UUID, Field, Struct

DELETED: Final = "<DELETE>"
_VERSION_BYTES: Final = 2
_FIRST_FLEXIBLE_TRANSACTION: Final = 1

# Where a field is called otherwise than Kafka's schema calls it.
_NAMES: Final[dict[tuple[type[Struct], str], str]] = {
    (records.GroupKey, "group_id"): "group",
    (records.GroupValue, "state_timestamp_ms"): "currentStateTimestamp",
    (records.GroupMember, "rebalance_timeout_ms"): "rebalanceTimeout",
    (records.GroupMember, "session_timeout_ms"): "sessionTimeout",
    (consumer_records.TargetEpoch, "assignment_timestamp_ms"): "assignmentTimestamp",
    (consumer_records.PatternValue, "timestamp_ms"): "timestamp",
    (consumer_protocol.Subscription, "generation"): "generationId",
    (consumer_protocol.Subscription, "rack"): "rackId",
    (consumer_protocol.Assignment, "partitions"): "assignedPartitions",
    (TransactionLogValue, "timeout_ms"): "transactionTimeoutMs",
    (TransactionLogValue, "status"): "transactionStatus",
    (TransactionLogValue, "partitions"): "transactionPartitions",
    (TransactionLogValue, "last_update_ms"): "transactionLastUpdateTimestampMs",
    (TransactionLogValue, "start_ms"): "transactionStartTimestampMs",
    (TransactionLogValue, "client_version"): "clientTransactionVersion",
}
# Its absence is written out, which Kafka's converter then shows.
_ALWAYS_SHOWN: Final = "classic_member_metadata"


class UnknownKind(ProtocolError):
    """A record of a kind that is not read here."""


def offsets_record(key: bytes, value: bytes | None) -> tuple[str, str]:
    """Key and value of a record of `__consumer_offsets`."""
    kind = _version(key)
    if kind in offset_records.KEY_VERSIONS:
        return _offset(kind, key, value)
    if kind == records.GROUP_KEY_VERSION:
        found = records.GroupKey(group_id=records.decode_group_key(key))
        return _text("type", kind, as_json(found, 0)), _payload(value, _group)
    if kind in consumer_records.KEY_VERSIONS:
        decoded = consumer_records.decode_key(key)
        return _text("type", kind, _consumer_key(decoded)), _payload(
            value, lambda data: _consumer_value(decoded.kind, data)
        )
    raise UnknownKind(f"Unknown record type {kind}")


def transaction_record(key: bytes, value: bytes | None) -> tuple[str, str]:
    """Key and value of a record of `__transaction_state`."""
    kind = _version(key)
    if kind != 0:
        raise UnknownKind(f"Unknown record type {kind}")
    found = decoder(TransactionLogKey, kind, False)(key, _VERSION_BYTES, len(key))
    return _text("type", kind, as_json(found, kind)), _payload(value, _transaction)


def _version(data: bytes) -> int:
    if len(data) < _VERSION_BYTES:
        raise ProtocolError(f"{len(data)} bytes have no version")
    return int.from_bytes(data[:_VERSION_BYTES], signed=True)


def _payload(value: bytes | None, read: Any) -> str:
    return DELETED if value is None else _text("version", _version(value), read(value))


def _text(label: str, number: int, data: Any) -> str:
    document = {label: str(number), "data": data}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _offset(kind: int, key: bytes, value: bytes | None) -> tuple[str, str]:
    whose = offset_records.decode_key(key)
    data = {"group": whose.group_id, "topic": whose.topic, "partition": whose.partition}
    return _text("type", kind, data), _payload(value, _committed)


def _committed(value: bytes) -> dict[str, Any]:
    committed, version = offset_records.decode_value(value), _version(value)
    data: dict[str, Any] = {"offset": committed.committed_offset}
    if version >= 3:
        data["leaderEpoch"] = committed.committed_leader_epoch
    data |= {"metadata": committed.metadata, "commitTimestamp": committed.commit_timestamp_ms}
    if version == 1:
        data["expireTimestamp"] = committed.expire_timestamp_ms
    if committed.topic_id != ZERO_UUID:
        data["topicId"] = id_text(committed.topic_id)
    return data


def _group(value: bytes) -> dict[str, Any]:
    group, version = records.decode_group_value(value), _version(value)
    data = as_json(group, version)
    if group.protocol_type == consumer_protocol.CONSUMER:
        for member, shown in zip(group.members, data["members"], strict=True):
            shown["subscription"] = _classic(
                consumer_protocol.decode_subscription(member.subscription), member.subscription
            )
            shown["assignment"] = _classic(
                consumer_protocol.decode_assignment(member.assignment), member.assignment
            )
    return data


def _classic(found: Struct, data: bytes) -> dict[str, Any]:
    return as_json(found, _version(data) if data else 0)


def _consumer_key(key: consumer_records.Key) -> dict[str, str]:
    data = {"groupId": key.group_id}
    if key.kind is consumer_records.Kind.PATTERN:
        data["regularExpression"] = key.name
    elif key.name:
        data["memberId"] = key.name
    return data


def _consumer_value(kind: consumer_records.Kind, value: bytes) -> dict[str, Any]:
    found = consumer_records.decode_value(kind, value)
    return {} if found is None else as_json(found, 0)


def _transaction(value: bytes) -> dict[str, Any]:
    version = _version(value)
    flexible = version >= _FIRST_FLEXIBLE_TRANSACTION
    found = decoder(TransactionLogValue, version, flexible)(value, _VERSION_BYTES, len(value))
    return as_json(found, version)


def as_json(struct: Struct, version: int) -> dict[str, Any]:
    """A structure as Kafka's converter shows it: a tagged field that has its default is left out."""
    shown = {}
    for field in struct.fields:
        value = getattr(struct, field.name)
        if field.exists(version) and not _left_out(field, value):
            name = _NAMES.get((type(struct), field.name)) or _camel(field.name)
            shown[name] = _plain(value, version)
    return shown


def _left_out(field: Field, value: Any) -> bool:
    if field.tag is None or field.name == _ALWAYS_SHOWN:
        return False
    return bool(value == field.default or value == [])


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        return as_json(value, version)
    if isinstance(value, list):
        return [_plain(each, version) for each in value]
    if isinstance(value, UUID):
        return id_text(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value
