"""A cluster as its client sees it: which broker is asked, and what happens when one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.client.cluster import TRANSACTION, Cluster
from ottla.client.errors import BrokerUnreachable, ClientError, ConnectionLost
from ottla.client.settings import client_settings
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.apis.find_coordinator import Coordinator, FindCoordinatorResponse
from ottla.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Response
from tests.unit.client.scripted import Answer, Saying, ScriptedBroker, metadata, run
from tests.unit.client.test_connection import free_port

QUICK = {"retry.backoff.ms": 1, "reconnect.backoff.ms": 1, "default.api.timeout.ms": 2000}


def cluster_of(*servers: str, **settings: Any) -> Cluster:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Cluster(client_settings({"bootstrap.servers": ",".join(servers), **QUICK, **named}))


@asynccontextmanager
async def two_brokers(**told: Any) -> AsyncIterator[tuple[ScriptedBroker, ScriptedBroker]]:
    async with ScriptedBroker(node_id=1) as one, ScriptedBroker(node_id=2) as two:
        for each in (one, two):
            each.answers[ApiKey.METADATA] = metadata({1: one, 2: two}, **told)
        yield one, two


def in_turn(*answers: Answer | Response) -> Answer:
    """Responses, or functions that give them, one after the other and the last one for ever."""
    left = list(answers)

    def answer(request: Any, version: int) -> Response | None:
        now = left.pop(0) if len(left) > 1 else left[0]
        return now if isinstance(now, Response) else now(request, version)

    return answer


def test_bootstrap_servers_are_tried_until_one_answers() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), Saying(b"HTTP/1.1 400 Bad Request") as web:
            servers = [f"127.0.0.1:{free_port()}", f"127.0.0.1:{web.port}", one.bootstrap]
            async with cluster_of(*servers) as cluster:
                view = await cluster.refresh()
                assert sorted(view.brokers) == [1, 2]
                assert view.cluster_id == "scripted"

    run(story())


def test_when_none_answers_the_error_names_each_of_them() -> None:
    ports = free_port(), free_port()

    async def story() -> None:
        async with cluster_of(*(f"127.0.0.1:{port}" for port in ports)) as cluster:
            await cluster.retried(cluster.refresh)

    with pytest.raises(BrokerUnreachable) as raised:
        run(story())
    assert all(f"nothing listens on 127.0.0.1:{port}" in str(raised.value) for port in ports)


def test_without_bootstrap_servers_the_error_says_what_to_set() -> None:
    with pytest.raises(BrokerUnreachable, match=r"set bootstrap\.servers"):
        run(Cluster(client_settings({})).refresh())


def test_the_bootstrap_connection_serves_for_its_broker_too() -> None:
    async def story() -> None:
        async with two_brokers() as (one, two), cluster_of(one.bootstrap) as cluster:
            await cluster.refresh()
            assert await cluster.connection(1) is await cluster.connection()
            await cluster.connection(2)
            assert (one.accepted, two.accepted) == (1, 1)

    run(story())


def test_many_askers_share_one_connection() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            await asyncio.gather(*(cluster.refresh() for _ in range(20)))
            assert one.accepted == 1

    run(story())


def test_a_lost_connection_is_opened_again() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            await cluster.refresh()
            connection = await cluster.connection(1)
            one.drop_connections()
            while not connection.closed:
                await asyncio.sleep(0)
            await cluster.refresh()
            assert one.accepted == 2

    run(story())


def test_a_request_that_was_under_way_is_tried_again_where_that_is_asked_for() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            await cluster.refresh()
            answer = one.answers[ApiKey.METADATA]

            def hang_up_once(request: Any, version: int) -> None:
                one.answers[ApiKey.METADATA] = answer
                one.drop_connections()

            one.answers[ApiKey.METADATA] = hang_up_once
            with pytest.raises(ConnectionLost):
                await cluster.refresh()
            one.answers[ApiKey.METADATA] = hang_up_once
            assert sorted((await cluster.retried(cluster.refresh)).brokers) == [1, 2]

    run(story())


def test_a_cluster_that_is_closed_opens_nothing_more() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), Saying(b"") as silent:
            cluster = cluster_of(one.bootstrap)
            await cluster.refresh()
            await cluster.close()
            with pytest.raises(ClientError, match="this client was closed"):
                await cluster.refresh()
            late = cluster_of(f"127.0.0.1:{silent.port}", socket_connection_setup_timeout_ms=50)
            asking = asyncio.ensure_future(late.refresh())
            await asyncio.sleep(0)
            await late.close()
            with pytest.raises(ClientError):
                await asking

    run(story())


def test_a_broker_that_is_not_there_is_named_with_those_that_are() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            with pytest.raises(BrokerUnreachable, match=r"no broker 7 .*there are: 1, 2"):
                await cluster.connection(7)

    run(story())


def created(code: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=code)])


def test_the_controller_is_looked_for_where_it_has_moved() -> None:
    async def story() -> None:
        async with two_brokers() as (one, two), cluster_of(one.bootstrap) as cluster:
            one.answers[ApiKey.CREATE_TOPICS] = in_turn(created(ErrorCode.NOT_CONTROLLER))
            two.answers[ApiKey.CREATE_TOPICS] = in_turn(created(0))
            before, after = (metadata({1: one, 2: two}, controller=node) for node in (1, 2))
            one.answers[ApiKey.METADATA] = in_turn(before, after)
            response = await cluster.ask_controller(CreateTopicsRequest())
            assert response.topics[0].error_code == 0
            assert (one.count(ApiKey.CREATE_TOPICS), two.count(ApiKey.CREATE_TOPICS)) == (1, 1)

    run(story())


def found(node_id: int, code: int = 0) -> FindCoordinatorResponse:
    row = Coordinator(key="g", node_id=node_id, error_code=code, error_message=None)
    return FindCoordinatorResponse(coordinators=[row])


def beat(code: int = 0) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=code)


def test_a_coordinator_that_loads_is_waited_for_and_one_that_moved_is_followed() -> None:
    async def story() -> None:
        async with two_brokers() as (one, two), cluster_of(one.bootstrap) as cluster:
            one.answers[ApiKey.FIND_COORDINATOR] = in_turn(
                found(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE), found(1), found(2)
            )
            one.answers[ApiKey.HEARTBEAT] = in_turn(
                beat(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), beat(ErrorCode.NOT_COORDINATOR)
            )
            two.answers[ApiKey.HEARTBEAT] = in_turn(beat())
            await cluster.ask_coordinator("g", HeartbeatRequest(group_id="g"))
            assert one.count(ApiKey.FIND_COORDINATOR) == 3
            assert (one.count(ApiKey.HEARTBEAT), two.count(ApiKey.HEARTBEAT)) == (2, 1)
            assert await cluster.coordinator("g") == 2

    run(story())


def test_a_coordinator_is_remembered_until_it_is_forgotten() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            one.answers[ApiKey.FIND_COORDINATOR] = in_turn(found(1))
            assert [await cluster.coordinator("g") for _ in range(3)] == [1, 1, 1]
            await cluster.coordinator("g", TRANSACTION)
            assert one.count(ApiKey.FIND_COORDINATOR) == 2
            cluster.forget_coordinator("g")
            await cluster.coordinator("g")
            assert one.count(ApiKey.FIND_COORDINATOR) == 3

    run(story())


def test_a_coordinator_that_cannot_be_is_no_reason_to_wait() -> None:
    async def story() -> None:
        async with two_brokers() as (one, _), cluster_of(one.bootstrap) as cluster:
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            one.answers[ApiKey.FIND_COORDINATOR] = in_turn(found(-1, code))
            one.answers[ApiKey.HEARTBEAT] = in_turn(beat())
            with pytest.raises(ApiError) as raised:
                await cluster.ask_coordinator("g", HeartbeatRequest(group_id="g"))
            assert raised.value.code == code

    run(story())


def test_a_partition_without_a_leader_is_waited_for() -> None:
    async def story() -> None:
        async with two_brokers() as (one, two), cluster_of(one.bootstrap) as cluster:
            brokers = {1: one, 2: two}
            without, with_one = ({"t": [1, leader]} for leader in (-1, 2))
            leaderless, led = (metadata(brokers, leaders=told) for told in (without, with_one))
            one.answers[ApiKey.METADATA] = in_turn(leaderless, leaderless, led)
            assert await cluster.leader("t", 1) == 2
            assert one.count(ApiKey.METADATA) == 3
            assert await cluster.leader("t", 0) == 1
            assert one.count(ApiKey.METADATA) == 3

    run(story())


@pytest.mark.parametrize(
    ("topic", "partition", "sentence"),
    [
        ("nope", 0, "there is no topic nope"),
        ("t", 5, "topic t has 2 partitions, but no 5"),
        ("t", 1, "partition 1 of topic t has no leader at present"),
    ],
)
def test_a_leader_that_does_not_come_is_one_clear_sentence(
    topic: str, partition: int, sentence: str
) -> None:
    async def story() -> None:
        told = {"t": [1, -1]}
        async with two_brokers(leaders=told) as (one, _), cluster_of(one.bootstrap) as cluster:
            await cluster.leader(topic, partition, timeout_ms=5)

    with pytest.raises(ApiError, match=sentence):
        run(story())


def test_the_view_keeps_topics_that_were_asked_for_before() -> None:
    async def story() -> None:
        told = {"a": [1], "b": [2, 1]}
        async with two_brokers(leaders=told) as (one, _), cluster_of(one.bootstrap) as cluster:
            await cluster.refresh(["a"])
            view = await cluster.refresh(["b", "gone"])
            assert sorted(view.topics) == ["a", "b", "gone"]
            assert [p.leader for p in view.topics["b"].partitions] == [2, 1]
            assert sorted((await cluster.refresh(None)).topics) == ["a", "b"]

    run(story())
