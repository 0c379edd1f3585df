"""Pure: the response that refuses a request with an error code, as a broker that did nothing would send it.

Error codes stand at the top of a response, or beside each thing that was asked for, or both; so a refusal names what
the request named. Which list of a response answers which list of a request is told by their names.
"""

from __future__ import annotations

from typing import Any, Final

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from ottla.protocol.apis.fetch import FetchRequest
from ottla.protocol.codec import response_class
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request, Response, Struct

# A list of a response, and the lists of requests that it may be the answer to, besides one of the same name.
_ANSWERS: Final = {
    "coordinators": ("coordinator_keys",),
    "groups": ("group_ids",),
    "partition_responses": ("partition_data",),
    "partition_result": ("partitions",),
    "partitions": ("partition_indexes",),
    "replica_election_results": ("topic_partitions",),
    "responses": ("topic_data", "topics", "topic_names", "resources"),
    "results": ("resources", "topics", "groups_names"),
    "results_by_partition": ("partitions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "transaction_states": ("transactional_ids",),
}
# By these the items of a response are told apart; where a request lists plain values, they become the first of these.
_IDENTITIES: Final = (
    "partition_index", "partition", "partition_id", "index", "key", "group_id", "transactional_id", "name", "topic",
    "topic_id", "topic_name", "member_id", "group_instance_id", "producer_id", "resource_type", "resource_name",
)  # fmt: skip
_PARTITION: Final = ("partition_index", "partition")
# What is called so in a response may have other names in its request.
_NAMES: Final = {**dict.fromkeys(_PARTITION, _PARTITION), "topic_name": ("topic_name", "name")}
# The top of these speaks of the fetch session, and of the client's list of brokers.
_ITEMS_ONLY: Final = (ApiKey.FETCH, ApiKey.METADATA)


class _Nothing(Struct):
    """What a plain value tells of itself."""


def refuse(request: Request, version: int, error: ErrorCode) -> Any:
    """The response that says `error` wherever there is room for it."""
    answer: Any = _answer(response_class(request.api_key), request, version, error)
    if isinstance(request, FetchRequest) and request.session_epoch > 0:
        # Within a session a request names what changed alone: only the top speaks of all of it.
        answer.responses = []
    elif request.api_key in _ITEMS_ONLY and _has_items(answer):
        answer.error_code = 0
    return answer


def _answer(kind: type[Struct], asked: Struct, version: int, error: ErrorCode) -> Any:
    answer = kind()
    for field in kind.fields:
        if not field.exists(version):
            continue
        if field.name in ("error_code", "partition_error_code"):
            setattr(answer, field.name, error)
        elif field.name == "error_message":
            setattr(answer, field.name, f"{error.message} (A fault rule of a test says so.)")
        elif field.name in _IDENTITIES:
            _identify(answer, field.name, asked)
        elif field.struct is not None and field.kind == "array" and _can_refuse(field.struct):
            items = _asked_for(asked, field.name, version)
            made = [_item(field.struct, item, version, error) for item in items]
            setattr(answer, field.name, made)
    return answer


def _identify(answer: Any, name: str, asked: Struct) -> None:
    for candidate in _NAMES.get(name, (name,)):
        if hasattr(asked, candidate):
            setattr(answer, name, getattr(asked, candidate))


def _item(kind: type[Struct], item: Any, version: int, error: ErrorCode) -> Any:
    if isinstance(item, Struct):
        return _answer(kind, item, version, error)
    answer = _answer(kind, _Nothing(), version, error)
    names = [field.name for field in kind.fields]
    setattr(answer, next(name for name in _IDENTITIES if name in names), item)
    return answer


def _asked_for(asked: Struct, name: str, version: int) -> list[Any]:
    """The list of a request that a list of its response answers."""
    if isinstance(asked, AlterReplicaLogDirsRequest):  # asked by directory, answered by topic
        return [topic for directory in asked.dirs for topic in directory.topics]
    carried = {field.name for field in asked.fields if field.exists(version)}
    for candidate in (name, *_ANSWERS.get(name, ())):
        if candidate in carried:
            return getattr(asked, candidate) or []
    return []


def _can_refuse(kind: type[Struct]) -> bool:
    return any(
        field.name.endswith("error_code")
        or (field.struct is not None and _can_refuse(field.struct))
        for field in kind.fields
    )


def _has_items(answer: Response) -> bool:
    return any(
        isinstance(value := getattr(answer, field.name), list) and value for field in answer.fields
    )
