"""The actions of kafka-reassign-partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.log_dir_moves import (
    DEFAULT_TIMEOUT_MS,
    is_moving,
    places_of,
    start_moves,
    state_of,
    wanted_directories,
)
from ottla.cli.kafka.options import Failed, Given
from ottla.cli.kafka.reassignment_files import ANY_DIRECTORY, Target, as_json, names
from ottla.cli.kafka.reassignment_throttles import clear_throttles, set_throttles
from ottla.client.administration.brokers import Brokers
from ottla.client.administration.configs import Configs
from ottla.client.administration.placement import Placement
from ottla.client.administration.topics import Topics
from ottla.client.errors import api_error
from ottla.inspection.outcomes import raise_first
from ottla.protocol.errors import ErrorCode

_THROTTLE_WARNING: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)


class ReassignmentAdmin(Topics, Brokers, Placement, Configs):
    """What is asked to move replicas."""


async def list_moves(admin: ReassignmentAdmin) -> None:
    """Print the moves that are under way."""
    found = await admin.list_partition_reassignments()
    if not found:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for partition, move in sorted(found.items()):
        line = f"{partition}: replicas: {names(move.replicas)}."
        line += f" adding: {names(move.adding)}." if move.adding else ""
        line += f" removing: {names(move.removing)}." if move.removing else ""
        print(line)


async def generate(
    admin: ReassignmentAdmin, topics: Sequence[str], brokers: Sequence[int], racks: bool
) -> None:
    """Print where the partitions are, and where they could be."""
    from ottla.controller.assignment import Candidate, assign_replicas

    known = {broker.id: broker.rack for broker in (await admin.describe_cluster()).brokers}
    current = await _current(admin, topics)
    print(f"Current partition replica assignment\n{as_json(current)}\n")
    chosen = [Candidate(b, known[b] if racks else None) for b in brokers if b in known]
    proposed: dict[TopicPartition, Target] = {}
    for topic in topics:
        held = [target for partition, target in current.items() if partition.topic == topic]
        factor = len(held[0].replicas)
        if factor > len(chosen):
            raise Failed(
                f"Replication factor: {factor} larger than available brokers: {len(chosen)}."
            )
        for number, replicas in enumerate(assign_replicas(chosen, len(held), factor)):
            anywhere = (ANY_DIRECTORY,) * len(replicas)
            proposed[TopicPartition(topic, number)] = Target(tuple(replicas), anywhere)
    print(f"Proposed partition reassignment configuration\n{as_json(proposed)}")


async def execute(
    admin: ReassignmentAdmin, given: Given, moves: Mapping[TopicPartition, Target]
) -> None:
    """Begin moves."""
    running = await admin.list_partition_reassignments()
    if running and not given.has("additional"):
        raise Failed(
            "Cannot execute because there is an existing partition assignment.  Use --additional "
            "to override this and create a new partition assignment in addition to the existing "
            "one. The --additional flag can also be used to change the throttle by resubmitting "
            "the current reassignment."
        )
    await _check_brokers(admin, moves)
    current = await _current(admin, sorted({partition.topic for partition in moves}))
    before = {partition: target for partition, target in current.items() if partition in moves}
    print(
        f"Current partition replica assignment\n\n{as_json(before)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    between = given.long_number("throttle")
    within = given.long_number("replica-alter-log-dirs-throttle")
    if (between or -1) >= 0 or (within or -1) >= 0:
        print(_THROTTLE_WARNING)
        await set_throttles(admin, moves, before, between, within)
    await _begin(admin, moves, not given.has("disallow-replication-factor-change"))
    timeout_ms = given.long_number("timeout")
    timeout_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
    await start_moves(admin, wanted_directories(moves), timeout_ms)


async def _begin(
    admin: ReassignmentAdmin, moves: Mapping[TopicPartition, Target], resize: bool
) -> None:
    results = await admin.alter_partition_reassignments(
        {partition: target.replicas for partition, target in moves.items()},
        allow_replication_factor_change=resize,
    )
    errors = {p: error for p, error in sorted(results.items()) if isinstance(error, ApiError)}
    if errors:
        lines = "\n".join(f"{partition}: {error}" for partition, error in errors.items())
        raise Failed(f"Error reassigning partition(s):\n{lines}")
    plural = "s" if len(moves) > 1 else ""
    print(f"Successfully started partition reassignment{plural} for {names(list(moves))}")


async def verify(
    admin: ReassignmentAdmin, moves: Mapping[TopicPartition, Target], keep_throttles: bool
) -> int:
    """Print how far moves are; throttles are lifted once all of them are done."""
    running = await admin.list_partition_reassignments()
    topics = await admin.describe_topics(sorted({partition.topic for partition in moves}))
    print("Status of partition reassignment:")
    for partition, target in moves.items():
        topic = topics[partition.topic]
        found = None if isinstance(topic, ApiError) else topic.partition(partition.partition)
        replicas = () if found is None else found.replicas
        if partition in running:
            print(f"Reassignment of partition {partition} is still in progress.")
        elif replicas == target.replicas:
            print(f"Reassignment of partition {partition} is completed.")
        else:
            print(
                f"There is no active reassignment of partition {partition}, but replica set is "
                f"{names(replicas)} rather than {names(target.replicas)}."
            )
    wanted = wanted_directories(moves)
    places = await places_of(admin, wanted) if wanted else {}
    print("\n".join(state_of(each, wanted[each], places.get(each)) for each in sorted(wanted)))
    ongoing = any(partition in running for partition in moves)
    if not keep_throttles and not ongoing and not any(is_moving(places.get(r)) for r in wanted):
        await clear_throttles(admin, await _affected_brokers(admin, moves), _topics(moves))
    return 0


async def cancel(
    admin: ReassignmentAdmin, moves: Mapping[TopicPartition, Target], keep_throttles: bool
) -> None:
    """End moves that are under way, and lift throttles."""
    running = await admin.list_partition_reassignments()
    active = [partition for partition in moves if partition in running]
    if active:
        raise_first(await admin.alter_partition_reassignments(dict.fromkeys(active)))
        plural = "s" if len(active) > 1 else ""
        print(f"Successfully cancelled partition reassignment{plural} for: {names(active)}")
    else:
        print("None of the specified partition reassignments are active.")
    wanted = wanted_directories(moves)
    places = await places_of(admin, wanted) if wanted else {}
    back = {r: p.current for r, p in places.items() if r in wanted and p.current and p.future}
    if back:
        await start_moves(admin, back, DEFAULT_TIMEOUT_MS)
    else:
        # Kafka's tool has no line break here, and scripts know its output.
        print("None of the specified partition moves are active.", end="")
    if not keep_throttles:
        await clear_throttles(admin, await _affected_brokers(admin, moves), _topics(moves))


async def _current(admin: ReassignmentAdmin, topics: Sequence[str]) -> dict[TopicPartition, Target]:
    described = await admin.describe_topics(topics)
    directories = await admin.describe_log_dirs()
    places: dict[tuple[TopicPartition, int], str] = {}
    for broker, found in directories.items():
        for path, directory in found.items():
            if not isinstance(directory, ApiError):
                places.update(
                    ((partition, broker), path)
                    for partition, replica in directory.replicas.items()
                    if not replica.future
                )
    current = {}
    for name, topic in described.items():
        if isinstance(topic, ApiError):
            unknown = topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise api_error(topic.code, f"Topic {name} not found.") if unknown else topic
        for each in topic.partitions:
            partition = TopicPartition(name, each.index)
            log_dirs = tuple(places.get((partition, b), ANY_DIRECTORY) for b in each.replicas)
            current[partition] = Target(each.replicas, log_dirs)
    return current


async def _check_brokers(admin: ReassignmentAdmin, moves: Mapping[TopicPartition, Target]) -> None:
    known = {broker.id for broker in (await admin.describe_cluster()).brokers}
    for target in moves.values():
        for broker in target.replicas:
            if broker not in known:
                raise Failed(f"Unknown broker id {broker}")


async def _affected_brokers(
    admin: ReassignmentAdmin, moves: Mapping[TopicPartition, Target]
) -> list[int]:
    known = {broker.id for broker in (await admin.describe_cluster()).brokers}
    return sorted(known | {broker for target in moves.values() for broker in target.replicas})


def _topics(moves: Iterable[TopicPartition]) -> list[str]:
    return sorted({partition.topic for partition in moves})
