"""What `kafka-consumer-groups --reset-offsets` does: works out new offsets, shows and commits them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import complain
from ottla.cli.kafka.consumer_groups import SCENARIOS
from ottla.cli.kafka.java_names import kafka_message
from ottla.cli.kafka.java_order import partitions_in_order, strings_in_order
from ottla.cli.kafka.listed_groups import chosen_groups
from ottla.cli.kafka.options import Failed, Given, UsageError
from ottla.cli.kafka.reset_plan import Plan, exported, read_plan
from ottla.cli.kafka.reset_scope import given_partitions
from ottla.cli.kafka.tables import lines
from ottla.cli.kafka.times import duration_ms, epoch_ms, now_ms
from ottla.client.administration.group_offsets import CommittedOffset, GroupOffsets
from ottla.client.administration.groups import DEAD, Groups
from ottla.client.administration.offsets import EARLIEST, LATEST, Offsets
from ottla.client.administration.topics import Topics
from ottla.inspection.outcomes import raise_first
from ottla.protocol.errors import ErrorCode

NewOffsets: TypeAlias = dict[TopicPartition, int]


class ResetAdmin(Topics, Groups, GroupOffsets, Offsets):
    """What moving offsets asks for."""


async def reset(admin: ResetAdmin, given: Given) -> None:
    """Print where each group goes, and with --execute commit it."""
    plan = _plan(given)
    names = await chosen_groups(admin, given)
    found = await admin.describe_groups(names)
    moved: Plan = {}
    for name in strings_in_order(names):
        state = found[name]
        if isinstance(state, ApiError) and state.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise state
        if isinstance(state, ApiError) or state.state in ("Empty", DEAD):
            moved[name] = await _reset_group(admin, given, name, plan)
        else:
            moved[name] = {}
            print(
                f"\nError: Assignments can only be reset if the group '{name}' is inactive, but "
                f"the current state is {state.state}."
            )
    if given.has("export"):
        print(exported(moved, with_group=len(given.values("group")) != 1))
    else:
        _print(moved)


def _plan(given: Given) -> Plan:
    path = given.value("from-file")
    groups = given.values("group")
    return {} if path is None else read_plan(path, groups[0] if len(groups) == 1 else None)


def _print(moved: Plan) -> None:
    rows = [
        (group, at.topic, at.partition, offsets[at])
        for group, offsets in moved.items()
        for at in offsets
    ]
    longest = max(map(len, moved), default=0)
    header = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
    table = lines((max(15, longest), 15, -10, 0), [header, *rows]) if moved else []
    print("\n" + "\n".join(table))


async def _reset_group(admin: ResetAdmin, given: Given, group: str, plan: Plan) -> NewOffsets:
    partitions = await _partitions(admin, given, group)
    await _refuse_strangers(admin, partitions)
    offsets = await _new_offsets(admin, given, group, partitions, plan)
    ordered = {at: offsets[at] for at in partitions_in_order(offsets)}
    if given.has("execute") and ordered:
        committed = {at: CommittedOffset(offset) for at, offset in ordered.items()}
        results = await admin.alter_group_offsets(group, committed)
        try:
            raise_first(results)
        except ApiError as refused:
            raise Failed(kafka_message(refused)) from None
    return ordered


async def _partitions(admin: ResetAdmin, given: Given, group: str) -> list[TopicPartition]:
    if given.has("all-topics"):
        return list(await _committed(admin, group))
    if given.has("topic"):
        scope = await given_partitions(admin, given.values("topic"))
        for topic, why in scope.unknown.items():
            raise Failed(f"{kafka_message(why)} There is no topic {topic}.")
        return scope.partitions
    if not given.has("from-file"):
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


async def _refuse_strangers(admin: Topics, partitions: Iterable[TopicPartition]) -> None:
    """Refuse partitions that do not exist, or that nobody leads."""
    topics = await admin.describe_topics({at.topic for at in partitions})
    unknown, leaderless = [], []
    for at in partitions:
        topic = topics[at.topic]
        found = None if isinstance(topic, ApiError) else topic.partition(at.partition)
        if found is None:
            unknown.append(str(at))
        elif found.leader < 0:
            leaderless.append(str(at))
    if unknown:
        raise Failed(f'The partitions "{",".join(unknown)}" do not exist')
    if leaderless:
        raise Failed(f'The partitions "{",".join(leaderless)}" have no leader')


async def _new_offsets(
    admin: ResetAdmin, given: Given, group: str, partitions: list[TopicPartition], plan: Plan
) -> NewOffsets:
    if given.has("to-offset"):
        offset = given.long_number("to-offset") or 0
        return await _within_range(admin, dict.fromkeys(partitions, offset))
    if given.has("to-earliest"):
        return await _listed(admin, partitions, EARLIEST)
    if given.has("to-latest"):
        return await _listed(admin, partitions, LATEST)
    if given.has("shift-by"):
        return await _shifted(admin, group, partitions, given.long_number("shift-by") or 0)
    if given.has("to-datetime"):
        return await _at_time(admin, partitions, epoch_ms(given.value("to-datetime") or ""))
    if given.has("by-duration"):
        back_ms = duration_ms(given.value("by-duration") or "")
        return await _at_time(admin, partitions, now_ms() - back_ms)
    if given.has("from-file"):
        return await _planned(admin, group, plan)
    if given.has("to-current"):
        return await _current(admin, group, partitions)
    shown = ", ".join(f"[{scenario}]" for scenario in SCENARIOS)
    raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{shown}]")


async def _shifted(
    admin: ResetAdmin, group: str, partitions: list[TopicPartition], shift: int
) -> NewOffsets:
    committed = await _committed(admin, group)
    for at in partitions:
        if at not in committed:
            raise UsageError(
                f"Cannot shift offset for partition {at} since there is no current committed offset"
            )
    return await _within_range(admin, {at: committed[at] + shift for at in partitions})


async def _planned(admin: ResetAdmin, group: str, plan: Plan) -> NewOffsets:
    if group not in plan:
        print(f"\nError: No reset plan for group {group} found")
        return {}
    await _refuse_strangers(admin, plan[group])
    return await _within_range(admin, plan[group])


async def _current(admin: ResetAdmin, group: str, partitions: list[TopicPartition]) -> NewOffsets:
    committed = await _committed(admin, group)
    missing = [at for at in partitions if at not in committed]
    kept = {at: committed[at] for at in partitions if at in committed}
    return kept | await _listed(admin, missing, LATEST)


async def _at_time(admin: ResetAdmin, partitions: list[TopicPartition], time_ms: int) -> NewOffsets:
    found = await _listed(admin, partitions, time_ms)
    late = [at for at in partitions_in_order(found) if found[at] < 0]
    for at in late:
        print(
            f"\nWarn: Partition {at.partition} from topic {at.topic} is empty. Falling back to "
            "latest known offset."
        )
    return found | await _listed(admin, late, LATEST)


async def _within_range(admin: Offsets, wanted: Mapping[TopicPartition, int]) -> NewOffsets:
    """The offsets, moved into what the partitions hold."""
    first = await _listed(admin, wanted, EARLIEST)
    last = await _listed(admin, wanted, LATEST)
    new = {at: min(max(offset, first[at]), last[at]) for at, offset in wanted.items()}
    if sys.stderr.isatty():  # Kafka logs this, where logging is set up
        for at, offset in wanted.items():
            if new[at] != offset:
                complain(f"WARN: {at} holds no offset {offset}; {new[at]} is the nearest.")
    return new


async def _listed(admin: Offsets, partitions: Iterable[TopicPartition], when: int) -> NewOffsets:
    found = await admin.list_offsets(dict.fromkeys(partitions, when))
    raise_first(found)
    return {at: each.offset for at, each in found.items() if not isinstance(each, ApiError)}


async def _committed(admin: GroupOffsets, group: str) -> NewOffsets:
    found = await admin.list_group_offsets(group)
    raise_first(found)
    return {
        at: each.offset
        for at, each in found.items()
        if not isinstance(each, ApiError) and each.offset >= 0
    }
