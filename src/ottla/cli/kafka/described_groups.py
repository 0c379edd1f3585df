"""What `kafka-consumer-groups --describe` prints: offsets, members or the state of groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import complain
from ottla.cli.kafka.listed_groups import chosen_groups
from ottla.cli.kafka.options import Failed, Given
from ottla.cli.kafka.tables import MISSING, lines
from ottla.client.administration.group_offsets import CommittedOffset, GroupOffsets
from ottla.client.administration.groups import GroupDescription, Groups, MemberDescription
from ottla.client.administration.offsets import LATEST, Offsets
from ottla.inspection.outcomes import raise_first

_CONSUMERS: Final = ("", "consumer")
_EMPTY: Final = "Empty"
_STABLE: Final = "Stable"


class GroupsAndOffsets(Groups, GroupOffsets, Offsets):
    """What describing groups asks for."""


async def describe(admin: GroupsAndOffsets, given: Given) -> None:
    """Print one table for each group."""
    groups = await described(admin, await chosen_groups(admin, given))
    verbose = given.has("verbose")
    for group in groups:
        if given.has("members"):
            _print_members(group, verbose)
        elif given.has("state"):
            _print_state(group, verbose)
        else:
            await _print_offsets(admin, group, verbose)


async def described(admin: Groups, names: Iterable[str]) -> list[GroupDescription]:
    """The groups of these names; one that is no consumer group is refused."""
    found = await admin.describe_groups(names)
    raise_first(found)
    groups = [group for group in found.values() if not isinstance(group, ApiError)]
    for group in groups:
        if group.protocol_type not in _CONSUMERS:
            raise Failed(
                f"GroupId {group.group_id} is not a consumer group ({group.protocol_type})."
            )
    return groups


def _tell_state(group: GroupDescription) -> None:
    if group.state == _EMPTY:
        complain(f"\nConsumer group '{group.group_id}' has no active members.")
    elif group.state != _STABLE:
        complain(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.")


def _print_table(widths: Sequence[int], rows: Iterable[Sequence[object]]) -> None:
    print("\n" + "\n".join(lines(widths, rows)))


async def _print_offsets(admin: GroupsAndOffsets, group: GroupDescription, verbose: bool) -> None:
    rows = await _offset_rows(admin, group)
    _tell_state(group)
    if not rows:
        return
    header = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET"]
    header += ["LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
    widths = [15, 15, -10, -15, -15, -15, -15, 15, 15, 0]
    table: list[list[object]] = [[*header], *([group.group_id, *row] for row in rows)]
    if not verbose:
        at = header.index("LEADER-EPOCH")
        widths = widths[:at] + widths[at + 1 :]
        table = [row[:at] + row[at + 1 :] for row in table]
    _print_table(widths, table)


async def _offset_rows(admin: GroupsAndOffsets, group: GroupDescription) -> list[list[object]]:
    """Partitions of members, those with most of them first, then partitions that nobody reads."""
    answers = await admin.list_group_offsets(group.group_id)
    committed = {at: each for at, each in answers.items() if not isinstance(each, ApiError)}
    busy = [member for member in group.members if member.assignment]
    busy.sort(key=lambda member: -len(member.assignment))
    assigned = [(each, member) for member in busy for each in sorted(member.assignment)]
    idle = sorted(committed.keys() - {each for each, _ in assigned})
    ends = await _ends(admin, [*(each for each, _ in assigned), *idle])
    rows = [
        [*_position(each, committed.get(each), ends.get(each)), *_who(member)]
        for each, member in assigned
    ]
    return rows + [
        [*_position(each, committed[each], ends.get(each)), MISSING, MISSING, MISSING]
        for each in idle
    ]


async def _ends(admin: Offsets, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, LATEST))
    return {at: each.offset for at, each in found.items() if not isinstance(each, ApiError)}


def _position(
    partition: TopicPartition, committed: CommittedOffset | None, end: int | None
) -> list[object]:
    offset = None if committed is None or committed.offset < 0 else committed.offset
    epoch = None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch
    lag = None if offset is None or end is None else end - offset
    return [partition.topic, partition.partition, epoch, offset, end, lag]


def _who(member: MemberDescription) -> list[object]:
    return [member.member_id, member.host, member.client_id]


def _print_members(group: GroupDescription, verbose: bool) -> None:
    _tell_state(group)
    static = any(member.instance_id for member in group.members)
    mixed = {member.upgraded for member in group.members} >= {True, False}
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else [])]
    header += ["HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, *([17] if static else []), 15, 15, -15]
    if verbose:
        header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        header += ["UPGRADED"] if mixed else []
        widths += [-15, 20, -15, 20, *([0] if mixed else [])]
    else:  # Kafka leaves a blank behind the last column
        header.append("")
        widths.append(0)
    rows = [_member_row(group, member, static, verbose, mixed) for member in group.members]
    _print_table(widths, [header, *rows])


def _member_row(
    group: GroupDescription, member: MemberDescription, static: bool, verbose: bool, mixed: bool
) -> list[object]:
    row: list[object] = [group.group_id, member.member_id]
    if static:
        row.append(member.instance_id or "")
    row += [member.host, member.client_id, len(member.assignment)]
    if not verbose:
        return [*row, ""]
    row += [member.epoch, _assignment(member.assignment)]
    row += [group.assignment_epoch, _assignment(member.target_assignment or ())]
    if mixed:
        row.append(None if member.upgraded is None else str(member.upgraded).lower())
    return row


def _assignment(partitions: Sequence[TopicPartition]) -> str | None:
    numbers: dict[str, list[str]] = {}
    for topic, partition in sorted(partitions):
        numbers.setdefault(topic, []).append(str(partition))
    return ";".join(f"{topic}:{','.join(each)}" for topic, each in numbers.items()) or None


def _print_state(group: GroupDescription, verbose: bool) -> None:
    _tell_state(group)
    node = group.coordinator
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    row: list[object] = [group.group_id, f"{node.host}:{node.port}  ({node.id})"]
    row += [group.assignor or None, group.state]
    widths = [15, 25, -20, -20]
    if verbose:
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        row += [group.epoch, group.assignment_epoch]
        widths += [-15, -25]
    _print_table([*widths, 0], [[*header, "#MEMBERS"], [*row, len(group.members)]])
