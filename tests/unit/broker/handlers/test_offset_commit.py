"""OffsetCommit: positions of groups are kept, for those who may move them."""

import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.apis.list_groups import ListGroupsRequest
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
)
from ottla.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import (
    Member,
    commit,
    commit_as,
    fetch,
    id_of,
    join,
    new_group,
    positions,
    subscription,
)


@pytest.mark.parametrize("version", range(2, 11))
def test_an_offset_is_kept_with_its_text_and_epoch(client: Client, version: int) -> None:
    topic, group = client.new_topic(2), new_group(client)
    topic_id = id_of(client, topic) if version >= 10 else uuid.UUID(int=0)
    offsets = {0: 5, 1: 6}
    errors = commit(
        client,
        group,
        topic,
        offsets,
        version=version,
        topic_id=topic_id,
        epoch=0,
        metadata="née",
    )
    assert errors == {0: 0, 1: 0}
    found = fetch(client, group, topic, [0, 1])
    assert [(each.offset, each.metadata) for each in found.values()] == [(5, "née"), (6, "née")]
    assert {each.leader_epoch for each in found.values()} == {0 if version >= 6 else -1}


@pytest.mark.parametrize("version", range(2, 11))
def test_the_same_partition_is_committed_over_and_over(client: Client, version: int) -> None:
    topic, group = client.new_topic(2), new_group(client)
    topic_id = id_of(client, topic) if version >= 10 else uuid.UUID(int=0)
    for offset, metadata in ((5, None), (6, ""), (7, "née"), (3, None), (8, None)):
        errors = commit(
            client,
            group,
            topic,
            {1: offset},
            version=version,
            topic_id=topic_id,
            epoch=offset,
            metadata=metadata,
        )
        assert errors == {1: 0}
        found = fetch(client, group, topic, [1])[1]
        assert (found.offset, found.metadata) == (offset, metadata or "")
        assert found.leader_epoch == (offset if version >= 6 else -1)


def test_commits_on_one_connection_take_effect_in_their_order(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    commit(client, group, topic, {0: 0})
    look = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    sent = b""
    for number in range(1, 41):
        sent += encode_request(one_position(group, topic, number), 9, 2 * number, "test")
        sent += encode_request(look, 8, 2 * number + 1, "test")
    client.send(sent)
    for number in range(1, 41):
        answered, kept = decode_response(ApiKey.OFFSET_COMMIT, 9, client.receive())
        assert (answered, kept.topics[0].partitions[0].error_code) == (2 * number, 0)
        answered, seen = decode_response(ApiKey.OFFSET_FETCH, 8, client.receive())
        [[position]] = [each.partitions for each in seen.groups[0].topics]
        assert (answered, position.committed_offset) == (2 * number + 1, number)


def test_many_clients_commit_at_the_same_time(client: Client, bootstrap: str) -> None:
    topic, count = client.new_topic(), 30
    groups = [new_group(client) for _ in range(count)]
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(bootstrap))) for _ in groups]
        for offset in range(20):
            for each, group in zip(clients, groups, strict=True):
                each.send(encode_request(one_position(group, topic, offset), 9, offset, "test"))
            for each in clients:
                number, kept = decode_response(ApiKey.OFFSET_COMMIT, 9, each.receive())
                assert (number, kept.topics[0].partitions[0].error_code) == (offset, 0)
            found = {fetch(client, group, topic, [0])[0].offset for group in groups}
            assert found == {offset}


def one_position(group: str, topic: str, offset: int) -> OffsetCommitRequest:
    named = OffsetCommitRequestTopic(name=topic, partitions=positions({0: offset}))
    return OffsetCommitRequest(group_id=group, topics=[named])


def test_a_topic_that_goes_is_missed_by_who_committed_there_before(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    assert [commit(client, group, topic, {0: offset}) for offset in (1, 2)] == [{0: 0}, {0: 0}]
    client.ask(DeleteTopicsRequest(topic_names=[topic]), 5)
    unknown = {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    wait_for(lambda: commit(client, group, topic, {0: 3}) == unknown, "the topic to go")


def test_a_member_that_committed_before_is_refused_when_its_generation_is_over(
    client: Client,
) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic)
    assert [commit_as(client, group, topic, member, offset) for offset in (1, 2)] == [0, 0]
    leave = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member.member_id)])
    assert client.ask(leave, 4).error_code == 0
    assert commit_as(client, group, topic, member, 3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fetch(client, group, topic, [0])[0].offset == 2


def test_no_text_is_an_empty_text(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    commit(client, group, topic, {0: 5}, metadata=None)
    assert fetch(client, group, topic, [0])[0].metadata == ""


def test_a_partition_that_does_not_exist_takes_nothing_from_the_others(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    assert commit(client, group, topic, {0: 5, 1: 5, -1: 5}) == {
        0: 0,
        1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        -1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert fetch(client, group, topic, [0])[0].offset == 5


def test_a_topic_that_does_not_exist_takes_nothing_from_the_others(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    named = [
        OffsetCommitRequestTopic(name=name, partitions=positions({0: 5}))
        for name in ("no-such-topic", topic)
    ]
    answer = client.ask(OffsetCommitRequest(group_id=group, topics=named), 9)
    errors = {each.name: each.partitions[0].error_code for each in answer.topics}
    assert errors == {"no-such-topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic: 0}


def test_an_unknown_topic_id_is_called_that(client: Client) -> None:
    group = new_group(client)
    errors = commit(client, group, "", {0: 5}, version=10, topic_id=uuid.uuid4())
    assert errors == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_text_that_is_too_long_is_refused(client: Client) -> None:
    topic, group = client.new_topic(2), new_group(client)
    assert commit(client, group, topic, {0: 5}, metadata="é" * 4096) == {0: 0}
    too_long = commit(client, group, topic, {0: 9}, metadata="x" * 4097)
    assert too_long == {0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert fetch(client, group, topic, [0])[0].offset == 5


def test_a_member_of_no_group_is_told_in_words_of_its_time(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    stranger = Member("m", 3)
    assert commit_as(client, group, topic, stranger, version=9) == ErrorCode.GROUP_ID_NOT_FOUND
    assert commit_as(client, group, topic, stranger, version=8) == ErrorCode.ILLEGAL_GENERATION


def test_only_members_of_this_generation_commit_to_a_group_that_has_some(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic)
    assert commit_as(client, group, topic, member, 7) == 0
    later = member._replace(generation=member.generation + 1)
    assert commit_as(client, group, topic, later) == ErrorCode.ILLEGAL_GENERATION
    stranger = Member("stranger", member.generation)
    assert commit_as(client, group, topic, stranger) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(client, group, topic, {0: 1}) == {0: ErrorCode.UNKNOWN_MEMBER_ID}
    assert fetch(client, group, topic, [0])[0].offset == 7


def test_a_member_may_still_commit_while_the_group_gathers_anew(
    client: Client, bootstrap: str
) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic)
    newcomer = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(topic))],
    )
    with closing(Client(bootstrap)) as second:
        newcomer.member_id = second.ask(newcomer, 5).member_id
        second.send(encode_request(newcomer, 5, 99, "newcomer"))
        assert commit_as(client, group, topic, member, 8) == 0
    assert fetch(client, group, topic, [0])[0].offset == 8


def test_nothing_to_commit_is_no_error(client: Client) -> None:
    assert client.ask(OffsetCommitRequest(group_id=new_group(client)), 9).topics == []


def test_an_offset_expires_when_its_client_said(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker({"offsets.retention.check.interval.ms": "100"})
    with closing(Client(broker.bootstrap)) as client:
        topic, group = client.new_topic(2), new_group(client)
        commit(client, group, topic, {0: 5}, version=2, retention_time_ms=1)
        commit(client, group, topic, {1: 5}, version=9)
        wait_for(lambda: fetch(client, group, topic, [0])[0].offset == -1, "an offset to expire")
        assert fetch(client, group, topic, [1])[1].offset == 5
        commit(client, group, topic, {1: 5}, version=4, retention_time_ms=1)
        wait_for(lambda: not groups_of(client), "the group to go with its last offset")


def groups_of(client: Client) -> list[str]:
    return [each.group_id for each in client.ask(ListGroupsRequest(), 5).groups]
