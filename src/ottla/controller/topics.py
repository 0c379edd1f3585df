"""Pure: decides what making, deleting and growing topics writes into the tree.

A new partition is led by its first replica, with all replicas in sync, at epochs 0.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from ottla.base.errors import ApiError, ConfigError
from ottla.base.ids import ZERO_ID, TopicPartition
from ottla.cluster import znodes
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.cluster.tree import Create, Delete, Op, Set
from ottla.config.dynamic import replace_topic
from ottla.config.table import Settings
from ottla.controller.assignment import Replicas
from ottla.controller.names import colliding, why_invalid
from ottla.controller.placement import place_partitions, place_topic
from ottla.controller.reassignment import topic_node
from ottla.controller.refusals import refused_setting
from ottla.controller.requests import Decision, NewPartitions, NewTopic, TopicRef, TopicResult
from ottla.controller.states import current_lives, fences
from ottla.protocol.errors import ErrorCode

MAX_PARTITIONS_PER_REQUEST: Final = 10_000
"""Kafka's own limit; what a client merely claims is never allocated."""
STATES_PER_STEP: Final = 1_000
"""ZooKeeper takes a megabyte at a time; a state and the node above it take a third of a kilobyte."""
_STATE_OPS_PER_STEP: Final = 2 * STATES_PER_STEP


class Circumstances(NamedTuple):
    """What a decision is based on."""

    image: Image
    settings: Settings
    controller_epoch: int


def decide_create(
    now: Circumstances, topics: Sequence[NewTopic], ids: Iterator[uuid.UUID], start: int
) -> Decision[TopicResult]:
    """Decides which topics can be made; `start` is where placement goes on from the last one."""
    _limit_partitions(_claimed(topic, now.settings) for topic in topics)
    asked = Counter(topic.name for topic in topics)
    made: set[str] = set()
    ops: list[Op] = []
    states: list[Op] = []
    results: list[TopicResult] = []
    for topic in {topic.name: topic for topic in topics}.values():
        try:
            _check_name(topic.name, asked[topic.name], now.image, made)
            header, placed, result = _new_topic(now, topic, next(ids), start)
        except ApiError as error:
            results.append(TopicResult(topic.name, ErrorCode(error.code), error.message))
            continue
        made.add(topic.name)
        start += result.partitions
        ops += header
        states += _new_partitions(now, topic.name, 0, placed)
        results.append(result)
    return Decision(_fenced(now.image, [*ops, *states[:_STATE_OPS_PER_STEP]]), results)


def decide_missing(now: Circumstances) -> Decision[TopicPartition]:
    """Decides the states of partitions that have none yet: those of a large topic do not fit into one step."""
    missing = (
        (topic.name, each)
        for topic in now.image.topics.values()
        for each in topic.partitions
        if each.partition_epoch < 0 and all(broker in now.image.brokers for broker in each.replicas)
    )
    ops: list[Op] = []
    made: list[TopicPartition] = []
    for name, partition in islice(missing, STATES_PER_STEP):
        ops += _new_partitions(now, name, partition.partition, [partition.replicas])
        made.append(TopicPartition(name, partition.partition))
    return Decision(_fenced(now.image, ops), made)


def decide_shrinking(now: Circumstances, topic: TopicImage) -> Decision[TopicPartition]:
    """Decides to take the last partitions from a topic that is being deleted and is too large for one step."""
    kept = max(len(topic.partitions) - STATES_PER_STEP, STATES_PER_STEP)
    gone = topic.partitions[kept:]
    if not gone:
        return Decision([], [])
    node = topic_node(topic, topic.partitions[:kept])
    ops: list[Op] = [Set(znodes.topic_path(topic.name), znodes.encode_topic(node), topic.version)]
    ops += _deleted_states(topic, gone)
    return Decision(ops, [TopicPartition(topic.name, each.partition) for each in gone])


def decide_delete(now: Circumstances, references: Sequence[TopicRef]) -> Decision[TopicResult]:
    """Decides which topics can be deleted; all of their nodes go at once."""
    if not now.settings.topics.delete_topic_enable:
        raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    asked = Counter(references)
    doomed: set[str] = set()
    ops: list[Op] = []
    results: list[TopicResult] = []
    for reference in asked:
        try:
            topic = _referred(now.image, reference, asked[reference])
            if topic.name in doomed:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the topic is named by name and by id")
        except ApiError as error:
            code = ErrorCode(error.code)
            results.append(
                TopicResult(reference.name, code, error.message, topic_id=reference.topic_id)
            )
            continue
        doomed.add(topic.name)
        ops += _deletion(now.image, topic)
        results.append(TopicResult(topic.name, topic_id=topic.topic_id))
    return Decision(ops, results)


def deletion_steps(image: Image, references: Sequence[TopicRef]) -> Iterator[Sequence[TopicRef]]:
    """The references all at once, or each topic by itself where together they are too many for one step."""
    sizes = {name: len(image.topics[name].partitions) for name in named_topics(image, references)}
    if sum(sizes.values()) <= STATES_PER_STEP:
        yield references
        return
    by_topic: dict[str | None, list[TopicRef]] = {}
    for each in references:
        by_topic.setdefault(next(named_topics(image, (each,)), None), []).append(each)
    yield from by_topic.values()


def named_topics(image: Image, references: Iterable[TopicRef]) -> Iterator[str]:
    """The topics that are there, by name."""
    for name, topic_id in references:
        found = image.topics_by_id.get(topic_id) if name is None else image.topics.get(name)
        if found is not None:
            yield found.name


def decide_partitions(
    now: Circumstances, requests: Sequence[NewPartitions]
) -> Decision[TopicResult]:
    """Decides which topics can be given more partitions."""
    _limit_partitions(
        request.total - len(topic.partitions)
        for request in requests
        if (topic := now.image.topics.get(request.name)) is not None
    )
    asked = Counter(request.name for request in requests)
    ops: list[Op] = []
    states: list[Op] = []
    results: list[TopicResult] = []
    for request in {request.name: request for request in requests}.values():
        try:
            if asked[request.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the topic is named more than once")
            grown, *added = _growth(now, request)
        except ApiError as error:
            results.append(TopicResult(request.name, ErrorCode(error.code), error.message))
        else:
            ops.append(grown)
            states += added
            results.append(TopicResult(request.name, partitions=request.total))
    return Decision(_fenced(now.image, [*ops, *states[:_STATE_OPS_PER_STEP]]), results)


def _fenced(image: Image, ops: list[Op]) -> list[Op]:
    """New partitions name the lives of their replicas: none of them may have ended by the time of the write."""
    return [*fences(image, image.brokers), *ops] if ops else ops


def _limit_partitions(counts: Iterable[int]) -> None:
    total = sum(count for count in counts if count > 0)
    if total > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"{total} partitions are too many for one request; at most"
            f" {MAX_PARTITIONS_PER_REQUEST} can be made at a time",
        )


def _claimed(topic: NewTopic, settings: Settings) -> int:
    if topic.assignments:
        return len(topic.assignments)
    return settings.topics.num_partitions if topic.partitions == -1 else topic.partitions


def _check_name(name: str, times: int, image: Image, made: set[str]) -> None:
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"topic {name!r} is asked for more than once")
    why = why_invalid(name)
    if why is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
    if name in image.topics:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {name!r} already exists.")
    other = colliding(name, chain(image.topics, made))
    if other is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"{name!r} and the topic {other!r} differ in '.' and '_' alone, which metrics"
            " cannot tell apart",
        )


def _new_topic(
    now: Circumstances, topic: NewTopic, topic_id: uuid.UUID, start: int
) -> tuple[list[Op], Sequence[Replicas], TopicResult]:
    try:
        configs = replace_topic(topic.configs, now.settings.log)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, refused_setting(error)) from None
    defaults = now.settings.topics
    placed = place_topic(
        now.image, topic, defaults.num_partitions, defaults.default_replication_factor, start
    )
    node = znodes.TopicNode(topic_id, tuple(placed))
    header: list[Op] = [
        Create(znodes.topic_path(topic.name), znodes.encode_topic(node)),
        Create(znodes.topic_config_path(topic.name), znodes.encode_config(configs)),
        Create(znodes.partitions_path(topic.name)),
    ]
    result = TopicResult(
        topic.name,
        topic_id=topic_id,
        partitions=len(placed),
        replication_factor=len(placed[0]),
        configs=configs,
    )
    return header, placed, result


def _new_partitions(
    now: Circumstances, topic: str, first: int, placed: Sequence[Replicas]
) -> Iterator[Op]:
    states = {
        replicas: znodes.encode_state(
            znodes.StateNode(
                replicas[0],
                0,
                replicas,
                now.controller_epoch,
                current_lives(now.image, replicas),
            )
        )
        for replicas in set(placed)
    }
    for partition, replicas in enumerate(placed, first):
        yield Create(znodes.partition_path(topic, partition))
        yield Create(znodes.state_path(topic, partition), states[replicas])


def _referred(image: Image, reference: TopicRef, times: int) -> TopicImage:
    name, topic_id = reference
    if (name is None) == (topic_id == ZERO_ID):
        raise ApiError(
            ErrorCode.INVALID_REQUEST, "a topic must be named by its name or its id, not by both"
        )
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the topic is named more than once")
    if name is None:
        found = image.topics_by_id.get(topic_id)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        found = image.topics.get(name)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if found is None:
        raise ApiError(unknown, unknown.message)
    return found


def _deletion(image: Image, topic: TopicImage) -> Iterator[Op]:
    yield from _deleted_states(topic, topic.partitions)
    yield Delete(znodes.partitions_path(topic.name))
    yield Delete(znodes.topic_path(topic.name), topic.version)
    if topic.name in image.topic_configs:
        yield Delete(znodes.topic_config_path(topic.name))


def _deleted_states(topic: TopicImage, partitions: Iterable[PartitionImage]) -> Iterator[Op]:
    for partition in partitions:
        if partition.partition_epoch >= 0:
            yield Delete(znodes.state_path(topic.name, partition.partition))
            yield Delete(znodes.partition_path(topic.name, partition.partition))


def _growth(now: Circumstances, request: NewPartitions) -> list[Op]:
    topic = now.image.topics.get(request.name)
    if topic is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise ApiError(unknown, unknown.message)
    present = len(topic.partitions)
    if request.total <= present:
        why = f"Topic already has {present} partition(s)."
        if request.total < present:
            why = (
                f"The topic {topic.name} currently has {present} partition(s); {request.total} "
                "would not be an increase."
            )
        raise ApiError(ErrorCode.INVALID_PARTITIONS, why)
    placed = place_partitions(now.image, topic, request)
    node = topic_node(topic, topic.partitions)
    node = node._replace(replicas=(*node.replicas, *placed))
    return [
        Set(znodes.topic_path(topic.name), znodes.encode_topic(node), topic.version),
        *_new_partitions(now, topic.name, present, placed),
    ]
