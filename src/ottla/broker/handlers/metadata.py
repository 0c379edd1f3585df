"""Metadata (api 3, v0-v13).

Versions: v1 none or all topics, racks, controller · v2 cluster id · v4 auto-creation may be declined · v5 offline
replicas · v7 leader epochs · v8 authorized operations · v9 flexible · v10 topic ids · v12 topics asked for by id ·
v13 an error for the whole (KIP-1102).
Differs from Apache Kafka: an answer that would name a leader whose process has just died waits for the election, for
300 ms at most; a broker that left is listed for three more seconds (`cluster/leader_doubts.py` says why). A topic that
is made because it was asked for is usable when the answer comes; Kafka says UNKNOWN_TOPIC_OR_PARTITION first. Internal
topics are not made in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from ottla.base.errors import ApiError, ClusterError
from ottla.base.ids import ZERO_ID
from ottla.broker import authorized_operations
from ottla.broker.context import RequestContext
from ottla.broker.metadata_frames import EncodedTopics, encode_metadata_response, encode_topic
from ottla.broker.reply import Buffers, Pending, Reply
from ottla.broker.topic_creation import create_topics
from ottla.broker.topic_views import INTERNAL_TOPICS, missing_topic_error, nodes, reachable
from ottla.cluster.image import Image, TopicImage
from ottla.controller.requests import NewTopic
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from ottla.protocol.codec import decode_request
from ottla.protocol.errors import ErrorCode

_FIRST_BY_ID: Final = 12
# What a client is told of a topic that could not be made for it; anything else reads as "not there".
_TOLD_OF_CREATION: Final = frozenset(
    (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_REPLICATION_FACTOR)
)
# Rules are about names: what one may do is told of a topic that is not there, and not of an id nobody knows.
_OF_NO_NAME: Final = frozenset((ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INVALID_REQUEST))
# Process-wide: a process is one broker, and entries are only ever used for the very same topic of an image.
_encoded_topics: Final = EncodedTopics()


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Say who the brokers are and who leads what; topics that may and must be made are made first."""
    request: MetadataRequest = decode_request(
        ApiKey.METADATA, context.version, frame, pos, len(frame)
    )
    missing = _to_create(context, request)
    if not missing:
        return _answer_when_sure(context, request)
    pending = Pending(blocking=True)
    context.broker.tasks.spawn(_create_and_answer(context, request, missing, pending))
    return pending


def _answer_when_sure(context: RequestContext, request: MetadataRequest) -> Reply:
    """Answer once the leaders to be named are known to live (`cluster/leader_waits.py`)."""
    broker, version = context.broker, context.version
    pending = Pending(blocking=False)

    def names_any(brokers: frozenset[int]) -> bool:
        return bool(brokers) and any(
            partition.leader in brokers
            for topic in _existing(broker.metadata.image, request, version)
            for partition in topic.partitions
        )

    def release() -> None:
        if not pending.done:
            pending.resolve(_answer(context, request, {}))

    if broker.leader_waits.hold(names_any, release):
        return pending
    return _answer(context, request, {})


async def _create_and_answer(
    context: RequestContext, request: MetadataRequest, missing: Sequence[str], pending: Pending
) -> None:
    try:
        errors = await _create(context, missing)
        pending.resolve(_answer(context, request, errors))
    finally:
        if not pending.done:
            context.connection.abort()


async def _create(context: RequestContext, names: Sequence[str]) -> dict[str, int]:
    """Make topics with the broker's defaults; the errors to tell, by topic."""
    try:
        results = await create_topics(context.broker, [NewTopic(name) for name in names])
    except (ApiError, ClusterError):
        return {}
    return {
        result.name: result.error
        for result in results
        if result.name is not None and result.error in _TOLD_OF_CREATION
    }


def _to_create(context: RequestContext, request: MetadataRequest) -> list[str]:
    broker = context.broker
    if not (
        request.topics
        and request.allow_auto_topic_creation
        and broker.settings.now.topics.auto_create_topics_enable
    ):
        return []
    known = broker.metadata.image.topics
    names = (topic.name for topic in request.topics if topic.topic_id == ZERO_ID)
    return [
        name
        for name in dict.fromkeys(names)
        if name is not None
        and name not in known
        and name not in INTERNAL_TOPICS
        and missing_topic_error(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]


def _answer(
    context: RequestContext, request: MetadataRequest, errors: Mapping[str, int]
) -> Buffers:
    waits = context.broker.leader_waits
    image, listener = context.broker.metadata.image, context.connection.listener
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in (*nodes(image, listener), *reachable(waits.departed(), listener))
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_operations.CLUSTER
    topics = _encoded(context, request, waits.image(), errors)
    return encode_metadata_response(response, topics, context.version, context.correlation_id)


def _existing(image: Image, request: MetadataRequest, version: int) -> Iterator[TopicImage]:
    """The topics asked for that exist."""
    if _asks_for_all(request, version):
        yield from image.topics.values()
        return
    assert request.topics is not None
    for topic in request.topics:
        found = _find(image, topic.name, topic.topic_id, version)
        if found is not None:
            yield found


def _asks_for_all(request: MetadataRequest, version: int) -> bool:
    return request.topics is None or (version == 0 and not request.topics)


def _find(image: Image, name: str | None, topic_id: UUID, version: int) -> TopicImage | None:
    if topic_id == ZERO_ID:
        return image.topics.get(name or "")
    return image.topics_by_id.get(topic_id) if version >= _FIRST_BY_ID else None


def _encoded(
    context: RequestContext, request: MetadataRequest, image: Image, errors: Mapping[str, int]
) -> list[bytes]:
    version = context.version
    operations = (
        authorized_operations.TOPIC
        if request.include_topic_authorized_operations
        else authorized_operations.NOT_ASKED
    )
    get = _encoded_topics.get
    if _asks_for_all(request, version):
        return [get(image, topic, version, operations) for topic in image.topics.values()]
    assert request.topics is not None
    encoded = []
    for name, topic_id in dict.fromkeys((topic.name, topic.topic_id) for topic in request.topics):
        found = _find(image, name, topic_id, version)
        if found is not None:
            encoded.append(get(image, found, version, operations))
        else:
            missing = _missing(name, topic_id, version, errors)
            if missing.error_code not in _OF_NO_NAME:
                missing.topic_authorized_operations = operations
            encoded.append(encode_topic(missing, version))
    return encoded


def _missing(
    name: str | None, topic_id: UUID, version: int, errors: Mapping[str, int]
) -> MetadataResponseTopic:
    if topic_id != ZERO_ID and version >= _FIRST_BY_ID:
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
        )
    if name is None or topic_id != ZERO_ID:
        # v10 and v11 have room for an id in the request and cannot be asked by it.
        return MetadataResponseTopic(
            error_code=ErrorCode.INVALID_REQUEST,
            name=None if version >= _FIRST_BY_ID else name or "",
            topic_id=topic_id,
        )
    return MetadataResponseTopic(
        error_code=errors.get(name) or missing_topic_error(name),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
    )
