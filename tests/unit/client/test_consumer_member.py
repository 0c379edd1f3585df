"""A member of a group that the broker assigns: it says only what changed, and believes what it hears."""

from uuid import UUID

from ottla.client.classic_member import Next
from ottla.client.consumer_member import JOIN, ConsumerMember
from ottla.protocol.apis.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode

TOPIC = UUID(int=9)
WANTED = frozenset(("t",))
NOTHING: frozenset[tuple[UUID, int]] = frozenset()


def answer(epoch: int, *partitions: int, error: int = 0) -> ConsumerGroupHeartbeatResponse:
    assignment = Assignment(
        topic_partitions=[TopicPartitions(topic_id=TOPIC, partitions=list(partitions))]
    )
    return ConsumerGroupHeartbeatResponse(
        error_code=error,
        member_epoch=epoch,
        heartbeat_interval_ms=5000,
        assignment=assignment if partitions else None,
    )


def joined() -> ConsumerMember:
    member = ConsumerMember("me")
    member.heartbeat("g", WANTED, NOTHING)
    assert member.heard(answer(3, 0, 1)) is Next.GO_ON
    return member


def test_joining_says_everything_and_owns_nothing() -> None:
    request = ConsumerMember("me").heartbeat("g", WANTED, frozenset(((TOPIC, 4),)))
    assert (request.member_epoch, request.member_id) == (JOIN, "me")
    assert (request.subscribed_topic_names, request.topic_partitions) == (["t"], [])


def test_the_answer_brings_epoch_and_target() -> None:
    member = joined()
    assert (member.epoch, member.interval_ms) == (3, 5000)
    assert member.target == {(TOPIC, 0), (TOPIC, 1)}


def test_a_heartbeat_without_news_says_nothing() -> None:
    request = joined().heartbeat("g", WANTED, NOTHING)
    assert (request.subscribed_topic_names, request.topic_partitions) == (None, None)


def test_what_is_owned_is_said_until_it_was_heard() -> None:
    member, owned = joined(), frozenset(((TOPIC, 1), (TOPIC, 0)))
    expected = [TopicPartitions(topic_id=TOPIC, partitions=[0, 1])]
    assert member.heartbeat("g", WANTED, owned).topic_partitions == expected
    member.unheard()
    again = member.heartbeat("g", WANTED, owned)
    assert (again.topic_partitions, again.subscribed_topic_names) == (expected, ["t"])
    member.heard(answer(3))
    assert member.heartbeat("g", WANTED, owned).topic_partitions is None
    assert member.target == owned


def test_a_fenced_member_loses_everything_and_joins_again() -> None:
    member = joined()
    assert member.heard(answer(0, error=ErrorCode.FENCED_MEMBER_EPOCH)) is Next.JOIN_AS_NEW
    assert (member.epoch, member.target, member.member_id) == (JOIN, None, "me")
    assert member.heartbeat("g", WANTED, NOTHING).subscribed_topic_names == ["t"]


def test_errors_that_pass_and_errors_that_do_not() -> None:
    member = joined()
    assert member.heard(answer(0, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)) is Next.LATER
    assert member.heard(answer(0, error=ErrorCode.UNRELEASED_INSTANCE_ID)) is Next.GIVE_UP
    assert member.epoch == 3
