"""The roster of a classic group."""

from typing import Any

from ottla.coordination.groups.members import Member, Roster, protocols_of
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol


def nobody(value: Any) -> None:
    raise AssertionError("a roster answers nobody")


def member(member_id: str, *names: str, instance_id: str | None = None) -> Member:
    made = Member(member_id, instance_id)
    made.protocols = tuple((name, name.encode()) for name in names)
    return made


def roster(*members: Member) -> Roster:
    made = Roster()
    for each in members:
        made.add(each)
    return made


def test_the_first_leads_and_the_oldest_of_the_rest_follows_it() -> None:
    first, second = member("a", "range"), member("b", "range")
    group = roster(first, second)
    assert group.leader_id == "a"
    group.remove(first)
    assert group.leader_id == "b"
    group.remove(second)
    assert group.leader_id is None


def test_the_leader_is_one_who_has_joined() -> None:
    group = roster(member("a", "range"), member("b", "range"))
    assert not group.elect_leader()
    group.hold_join(group.get("b") or member(""), nobody)
    assert group.elect_leader()
    assert (group.leader_id, group.awaiting) == ("b", 1)


def test_what_all_can_do_and_most_like_best_is_chosen() -> None:
    group = roster(
        member("a", "range", "sticky"),
        member("b", "sticky", "range"),
        member("c", "sticky", "x", "range"),
    )
    assert group.choose_protocol() == "sticky"
    assert group.share_one_of(["x", "range"])
    assert not group.share_one_of(["x"])
    tied = roster(member("a", "range", "sticky"), member("b", "sticky", "range"))
    assert tied.choose_protocol() == "range"


def test_a_static_member_keeps_its_place_under_another_name() -> None:
    group = roster(member("a", "range", instance_id="i"), member("b", "range"))
    group.rename(group.get("a") or member(""), "c")
    assert [each.member_id for each in group] == ["c", "b"]
    assert (group.leader_id, group.instances) == ("c", {"i": "c"})


def test_a_protocol_named_twice_counts_once() -> None:
    twice = [JoinGroupRequestProtocol(name="range", metadata=data) for data in (b"1", b"2")]
    assert protocols_of(JoinGroupRequest(protocols=twice)) == (("range", b"2"),)
