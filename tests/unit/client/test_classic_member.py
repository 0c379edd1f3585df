"""A member of a classic group, and what each answer of the coordinator makes of it."""

from ottla.base.ids import TopicPartition
from ottla.client.classic_member import UNKNOWN_GENERATION, ClassicMember, Next, changes
from ottla.protocol.errors import ErrorCode


def stable_member() -> ClassicMember:
    member = ClassicMember()
    assert member.heard(ErrorCode.MEMBER_ID_REQUIRED, "m-1") is Next.JOIN_AGAIN
    assert member.heard(ErrorCode.NONE) is Next.GO_ON
    member.joined("m-1", 4, "range")
    member.synced()
    return member


def test_the_first_join_brings_a_member_id_and_the_second_a_generation() -> None:
    member = stable_member()
    assert (member.member_id, member.generation, member.protocol) == ("m-1", 4, "range")
    assert (member.stable, member.rejoin) == (True, False)


def test_a_rebalance_makes_it_join_again_as_the_same_member() -> None:
    member = stable_member()
    assert member.heard(ErrorCode.REBALANCE_IN_PROGRESS) is Next.JOIN_AGAIN
    assert (member.rejoin, member.member_id, member.generation) == (True, "m-1", 4)


def test_a_member_that_the_coordinator_forgot_begins_anew() -> None:
    member = stable_member()
    assert member.heard(ErrorCode.UNKNOWN_MEMBER_ID) is Next.JOIN_AS_NEW
    assert (member.member_id, member.generation, member.stable) == ("", UNKNOWN_GENERATION, False)


def test_an_old_generation_is_lost_but_not_the_id() -> None:
    member = stable_member()
    assert member.heard(ErrorCode.ILLEGAL_GENERATION) is Next.JOIN_AS_NEW
    assert (member.member_id, member.generation) == ("m-1", UNKNOWN_GENERATION)


def test_a_loading_coordinator_is_waited_for_and_a_fence_is_final() -> None:
    member = stable_member()
    assert member.heard(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) is Next.LATER
    assert member.heard(ErrorCode.FENCED_INSTANCE_ID) is Next.GIVE_UP
    assert member.heard(ErrorCode.GROUP_AUTHORIZATION_FAILED) is Next.GIVE_UP
    assert member.stable


def test_changes_are_what_to_let_go_of_and_what_to_take() -> None:
    a, b, c = (TopicPartition("t", n) for n in range(3))
    assert changes(frozenset((a, b)), frozenset((b, c))) == ([a], [c])
