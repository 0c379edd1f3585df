"""Pure: checks where a client wants replicas to be, or decides it where the client does not say."""

from collections.abc import Sequence

from ottla.base.errors import ApiError
from ottla.cluster.image import Image, TopicImage
from ottla.controller.assignment import Candidate, Replicas, assign_replicas
from ottla.controller.requests import USE_DEFAULT, ManualReplicas, NewPartitions, NewTopic
from ottla.protocol.errors import ErrorCode


def place_topic(
    image: Image, topic: NewTopic, count: int, factor: int, start: int
) -> list[Replicas]:
    """Places the partitions of a new topic; `count` and `factor` are the broker's defaults."""
    if topic.assignments:
        return _manual_topic(image, topic)
    if topic.replication_factor != USE_DEFAULT:
        factor = topic.replication_factor
    if topic.partitions != USE_DEFAULT:
        count = topic.partitions
    if factor < 1:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"the replication factor must be at least 1, or -1 for the default, not {factor}",
        )
    if count < 1:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"the number of partitions must be at least 1, or -1 for the default, not {count}",
        )
    return assign_replicas(_candidates(image, factor), count, factor, start=start)


def place_partitions(image: Image, topic: TopicImage, request: NewPartitions) -> list[Replicas]:
    """Places the partitions that a topic is to gain."""
    existing = [partition.replicas for partition in topic.partitions]
    added = request.total - len(existing)
    factor = len(existing[0])
    if request.assignments is None:
        candidates = _candidates(image, factor)
        return assign_replicas(candidates, added, factor, existing=existing)
    if len(request.assignments) != added:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are to be added, but {len(request.assignments)} are assigned",
        )
    return [
        _checked(image, len(existing) + index, brokers, factor)
        for index, brokers in enumerate(request.assignments)
    ]


def _candidates(image: Image, factor: int) -> list[Candidate]:
    if factor > len(image.brokers):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of "
            f"{factor} cannot be reached because only {len(image.brokers)} broker(s) are registered "
            "or some brokers have all their log directories cordoned.",
        )
    # Where no racks are named, a host is one.
    return [
        Candidate(broker.broker_id, broker.rack or broker.machine)
        for broker in image.brokers.values()
    ]


def _manual_topic(image: Image, topic: NewTopic) -> list[Replicas]:
    if (topic.partitions, topic.replication_factor) != (USE_DEFAULT, USE_DEFAULT):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "with replicas assigned by hand, the number of partitions and the replication factor"
            " must both be -1",
        )
    assigned = sorted(topic.assignments, key=lambda assignment: assignment.partition)
    if [assignment.partition for assignment in assigned] != list(range(len(assigned))):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "the partitions assigned by hand must be numbered from 0, each once and without gaps",
        )
    return [_checked(image, p, brokers, _factor(assigned)) for p, brokers in assigned]


def _factor(assigned: Sequence[ManualReplicas]) -> int:
    return len(assigned[0].brokers)


def _checked(image: Image, partition: int, brokers: Sequence[int], factor: int) -> Replicas:
    """Refuses replicas that are none, twice on a broker, on no broker, or of another number."""
    unknown = [broker for broker in brokers if broker not in image.brokers]
    if not brokers:
        why = "has no replicas"
    elif len(set(brokers)) != len(brokers):
        why = f"has several replicas on one broker: {list(brokers)}"
    elif unknown:
        why = f"has replicas on brokers that are not alive: {unknown}"
    elif len(brokers) != factor:
        why = f"has {len(brokers)} replicas where the others have {factor}"
    else:
        return tuple(brokers)
    raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {partition} {why}")
