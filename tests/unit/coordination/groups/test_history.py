"""The recent past of groups: why they rebalanced, and who owned what."""

from ottla.coordination.groups.history import (
    BYTES_PER_SIZE,
    DETAIL_CHARS,
    EVENTS_PER_GROUP,
    GENERATIONS_PER_GROUP,
    SIZE,
    Event,
    Generation,
    History,
    Owner,
)
from tests.unit.coordination.groups.transcripts import GROUP, Player

STORY = """config group_initial_rebalance_delay_ms=0
join a version=3
advance 10ms
sync a a-1=t-0
join b version=3 reason=more-work
join a
sync a a-1=t-0 b-1=t-1
sync b
leave b
join a
sync a a-1=t-0,t-1
"""


def played() -> Player:
    player = Player()
    player.play(STORY)
    return player


def test_it_says_who_came_and_went_and_why_the_group_rebalanced() -> None:
    history = played().shard.history
    assert [(e.what, e.member_id, e.detail) for e in history.events(GROUP)] == [
        ("joined", "a-1", ""),
        ("rebalance", "", "a-1 joined"),
        ("joined", "b-1", "more-work"),
        ("rebalance", "", "b-1 joined"),
        ("left", "b-1", ""),
        ("rebalance", "", "b-1 left"),
    ]


def test_it_says_who_owned_what_also_after_a_restart() -> None:
    player = played()
    player.do("reload")
    owned = [
        (generation.generation, {o.client_id: o.assignment.decode() for o in generation.owners})
        for generation in player.shard.history.generations(GROUP)
    ]
    assert owned == [(1, {"a": "t-0"}), (2, {"a": "t-0", "b": "t-1"}), (3, {"a": "t-0,t-1"})]


def test_it_is_bounded_for_each_group() -> None:
    history = History()
    for number in range(1000):
        history.note("g", number, "rebalance")
        history.assigned("g", Generation(number, number, "consumer", "range", ()))
    assert len(history.events("g")) == EVENTS_PER_GROUP
    assert len(history.generations("g")) == GENERATIONS_PER_GROUP


def test_of_many_groups_those_that_changed_last_are_remembered() -> None:
    history = History()
    for number in range(SIZE + 10):
        history.note("busy", number, "rebalance")
        history.note(f"g{number}", number, "joined")
    assert not history.events("g9")
    assert history.events(f"g{SIZE}")
    assert len(history.events("busy")) == EVENTS_PER_GROUP


def test_a_huge_group_is_remembered_with_its_last_generation_alone() -> None:
    history = History()
    owners = tuple(Owner(f"m{n}", None, "c", "/h", bytes(1000)) for n in range(SIZE))
    for number in range(3):
        history.assigned("g", Generation(number, number, "consumer", "range", owners))
    assert [each.generation for each in history.generations("g")] == [2]


def test_reasons_are_cut_to_the_length_that_kafkas_clients_send() -> None:
    player = Player()
    player.do("config group_initial_rebalance_delay_ms=0")
    for _ in range(10):
        player.do(f"join a version=3 afresh reason={'x' * 100_000}")
        player.do("advance 10ms")
        player.do(f"leave a reason={'y' * 100_000}")
    events = player.shard.history.events(GROUP)
    assert {event.detail for event in events if event.what == "joined"} == {"x" * DETAIL_CHARS}
    assert {event.detail for event in events if event.what == "left"} == {"y" * DETAIL_CHARS}
    assert all(len(event.detail) <= DETAIL_CHARS for event in events)


def test_members_that_give_themselves_long_names_leave_less_behind() -> None:
    history = History()
    for number in range(SIZE):
        name = f"{number:030000}"
        history.note(name, number, "joined", name)
        owner = Owner(name, name, name, "/h", b"")
        history.assigned(name, Generation(number, number, "consumer", "range", (owner,)))
    kept = [n for n in range(SIZE) if history.events(f"{n:030000}")]
    assert kept
    assert 5 * 30_000 * len(kept) <= SIZE * BYTES_PER_SIZE
    for number in range(2 * SIZE):
        history.note(f"g{number}", number, "left")
    assert sum(bool(history.events(f"g{n}")) for n in range(2 * SIZE)) == SIZE


def test_it_outlives_the_group_and_says_who_deleted_it_when() -> None:
    player = played()
    player.play("leave a")
    for key, value in player.shard.delete(GROUP, print, 99_000).records:
        player.shard.replay(key, value, None)
    assert GROUP not in player.shard.groups
    assert player.shard.history.events(GROUP)[-1] == Event(99_000, "deleted", "", "")
    assert [each.generation for each in player.shard.history.generations(GROUP)][:3] == [1, 2, 3]
