"""Asking leaders and all brokers: whom, and again when one has moved or is not ready."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.base.ids import TopicPartition
from ottla.client.administration.groups import Groups
from ottla.client.administration.offsets import LATEST, MAX_TIMESTAMP, ListedOffset, Offsets
from ottla.client.errors import UnsupportedByBroker
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.list_groups import ListedGroup, ListGroupsResponse
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import Answer, run
from tests.unit.client.test_cluster import QUICK, in_turn, two_brokers

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def offsets(offset: int, code: int = 0) -> Answer:
    """The same offset, or error, for every partition that is asked for."""

    def answer(request: Any, version: int) -> ListOffsetsResponse:
        [topic] = request.topics
        rows = [
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index, offset=offset, error_code=code
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse(name=topic.name, partitions=rows)]
        )

    return answer


def test_each_leader_is_asked_for_its_own_partitions() -> None:
    async def story() -> None:
        async with two_brokers(leaders={"t": [1, 2]}) as (one, two):
            one.answers[ApiKey.LIST_OFFSETS] = offsets(10)
            two.answers[ApiKey.LIST_OFFSETS] = offsets(20)
            async with Offsets({"bootstrap.servers": one.bootstrap, **QUICK}) as admin:
                found = await admin.list_offsets({FIRST: LATEST, SECOND: LATEST})
            assert found == {FIRST: ListedOffset(10, -1, -1), SECOND: ListedOffset(20, -1, -1)}

    run(story())


def test_a_leader_that_has_moved_is_asked_for_again() -> None:
    async def story() -> None:
        async with two_brokers(leaders={"t": [1]}) as (one, _):
            moved = offsets(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            one.answers[ApiKey.LIST_OFFSETS] = in_turn(moved, moved, offsets(7))
            async with Offsets({"bootstrap.servers": one.bootstrap, **QUICK}) as admin:
                assert await admin.list_offsets({FIRST: LATEST}) == {FIRST: ListedOffset(7, -1, -1)}
            assert one.count(ApiKey.LIST_OFFSETS) == 3

    run(story())


def test_a_question_that_an_old_broker_would_misread_is_not_asked() -> None:
    async def story() -> None:
        async with two_brokers(leaders={"t": [1]}) as (one, _):
            one.answers[ApiKey.LIST_OFFSETS] = offsets(7)
            async with Offsets({"bootstrap.servers": one.bootstrap}) as admin:
                (await admin.cluster.connection()).versions[ApiKey.LIST_OFFSETS] = (1, 6)
                with pytest.raises(UnsupportedByBroker, match="ListOffsets up to version 6"):
                    await admin.list_offsets({FIRST: MAX_TIMESTAMP})

    run(story())


def groups(*names: str, code: int = 0) -> ListGroupsResponse:
    return ListGroupsResponse(groups=[ListedGroup(group_id=n) for n in names], error_code=code)


def test_all_brokers_are_asked_for_groups_and_one_that_loads_is_waited_for() -> None:
    async def story() -> None:
        async with two_brokers() as (one, two):
            one.answers[ApiKey.LIST_GROUPS] = in_turn(groups("b", "c"))
            loading = groups(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            two.answers[ApiKey.LIST_GROUPS] = in_turn(loading, groups("a"))
            async with Groups({"bootstrap.servers": one.bootstrap, **QUICK}) as admin:
                assert [each.group_id for each in await admin.list_groups()] == ["a", "b", "c"]

    run(story())
