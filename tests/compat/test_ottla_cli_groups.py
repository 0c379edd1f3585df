"""`ottla groups` and `ottla doctor` against the broker under test: lag, resets, history, undo."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla import Consumer
from tests.conftest import AGAINST
from tests.support.clients import create_topic, produce, unique_name
from tests.support.ottla_cli import Ottla
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat


@pytest.fixture
def ottla(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Ottla:
    """The command line of a person without contexts."""
    return Ottla(bootstrap).at_home(monkeypatch)


@pytest.fixture
def topic(bootstrap: str) -> str:
    """Two partitions with ten records each."""
    name = create_topic(bootstrap, "cli-groups", partitions=2)
    produce(bootstrap, name, [{"value": b"x", "partition": n % 2} for n in range(20)])
    return name


@pytest.fixture
def group(bootstrap: str, topic: str) -> str:
    """A group that has read half of the topic and gone."""
    name = unique_name("cli-group")
    with member(bootstrap, topic, name) as client:
        for partition in client.assignment():
            client.seek(partition, 5)
        client.commit()
    return name


@contextmanager
def member(bootstrap: str, topic: str, group: str) -> Iterator[Consumer]:
    """A consumer that has its partitions, and commits when it is told to."""
    settings = {"bootstrap.servers": bootstrap, "enable.auto.commit": False, "client.id": "app"}
    with Consumer(settings, group_id=group, auto_offset_reset="earliest") as client:
        client.subscribe([topic])
        wait_for(lambda: client.poll(0.1, 1) and client.assignment(), "an assignment")
        yield client


def committed(ottla: Ottla, group: str) -> list[int]:
    return [row["committed"] for row in ottla.json("groups", "lag", group)]


def test_groups_are_listed_and_described(ottla: Ottla, bootstrap: str, topic: str) -> None:
    group = unique_name("cli-group")
    with member(bootstrap, topic, group):
        [row] = [each for each in ottla.json("groups", "list", "--long") if each["group"] == group]
        assert (row["state"], row["members"]) == ("Stable", 1)
        shown = ottla.json("groups", "describe", group)
        assert shown["members"][0]["client"] == "app"
        assert shown["members"][0]["reads"] == [f"{topic}-0", f"{topic}-1"]
        refusal = ottla.refused("groups", "reset", group, "-t", topic, "--to-latest", "--execute")
        assert "has 1 member (app); stop them first" in refusal
        assert "who is in it" in ottla.refused("groups", "delete", group, "--yes")
    assert f"did you mean {group}" in ottla.refused("groups", "describe", f"{group}x")


def test_lag_is_told_once_or_watched(ottla: Ottla, group: str, topic: str) -> None:
    assert [row["lag"] for row in ottla.json("groups", "lag", group)] == [5, 5]
    assert "10 records behind in all" in ottla.ok("groups", "lag", group)
    watch = ("groups", "lag", group, "--watch", "--every", "10ms", "--times", "2")
    looks = [json.loads(line) for line in ottla.ok(*watch, "-o", "ndjson").splitlines()]
    assert [look["lag"] for look in looks] == [10, 10]
    assert (looks[0]["read_per_s"], looks[1]["read_per_s"]) == (None, 0)
    assert looks[1]["caught_up_in"] == "never, at this pace"


RESETS = {
    "earliest": (("--to-earliest",), [0, 0]),
    "latest": (("--to-latest",), [10, 10]),
    "offset": (("--to-offset", "3"), [3, 3]),
    "beyond": (("--to-offset", "99"), [10, 10]),
    "shift": (("--shift-by", "-2"), [3, 3]),
    "long ago": (("--back", "1h"), [0, 0]),
    "the future": (("--to-time", "2099-01-01T00:00:00"), [10, 10]),
}


@pytest.mark.parametrize(("goal", "after"), RESETS.values(), ids=RESETS.keys())
def test_offsets_are_moved_when_told_to(
    ottla: Ottla, group: str, goal: tuple[str, ...], after: list[int]
) -> None:
    words = ("groups", "reset", group, "--all-topics", *goal)
    assert [row["after"] for row in ottla.json(*words)] == after
    assert committed(ottla, group) == [5, 5]
    ottla.ok(*words, "--execute")
    assert committed(ottla, group) == after


def test_one_partition_can_be_moved_alone(ottla: Ottla, group: str, topic: str) -> None:
    ottla.ok("groups", "reset", group, "-t", f"{topic}:1", "--to-earliest", "--execute")
    assert committed(ottla, group) == [5, 0]
    words = ("groups", "reset", group, "--to-latest", "-t")
    assert "it has partitions 0 to 1" in ottla.refused(*words, f"{topic}:7")
    assert f"write partitions as {topic}:0,1" in ottla.refused(*words, f"{topic}:x")


@pytest.mark.skipif(AGAINST == "kafka", reason="the history is ottla's own")
def test_a_reset_is_undone_and_the_undoing_too(ottla: Ottla, group: str) -> None:
    ottla.ok("groups", "reset", group, "--all-topics", "--to-latest", "--execute")
    assert "nothing" not in ottla.run("groups", "undo", group, "--dry-run").err
    assert committed(ottla, group) == [10, 10]
    ottla.ok("groups", "undo", group)
    assert committed(ottla, group) == [5, 5]
    ottla.ok("groups", "undo", group)
    assert committed(ottla, group) == [10, 10]
    told = [row["what"] for row in ottla.json("groups", "history", group)]
    assert {"joined", "commit", "commit, moved back"} <= set(told)
    moves = ottla.json("groups", "history", group, "--offsets", "-n", "2")
    assert all(row["who"].startswith("ottla-groups-undo") for row in moves)


@pytest.mark.skipif(AGAINST == "kafka", reason="the history is ottla's own")
def test_a_deleted_group_is_put_back(ottla: Ottla, group: str) -> None:
    assert f"deleted group {group}" in ottla.ok("groups", "delete", group, "--yes")
    assert "there is no group" in ottla.refused("groups", "lag", group)
    ottla.ok("groups", "undo", group)
    assert committed(ottla, group) == [5, 5]


def test_nothing_to_undo_is_said(ottla: Ottla, group: str) -> None:
    sentence = ottla.refused("groups", "undo", group)
    assert "nothing to undo" in sentence or "it is not ottla" in sentence


def test_the_doctor_finds_what_keeps_a_group_from_reading(
    ottla: Ottla, bootstrap: str, group: str, topic: str
) -> None:
    sick = ottla.run("doctor", "--topic", topic, "--group", group)
    assert sick.code == 1
    assert f"problem  group {group} has no members: nobody reads" in sick.out
    assert f"warning  group {group} is 10 records behind" in sick.out
    with member(bootstrap, topic, group) as client:
        client.seek_to_end()
        wait_for(lambda: all(client.position(at) == 10 for at in client.assignment()), "the end")
        client.commit()
        well = ottla.json("doctor", "--topic", topic, "--group", group)
    assert {each["level"] for each in well} == {"ok"}
    assert any("nothing new is written" in each["what"] for each in well)


def test_the_doctor_knows_what_is_not_there(ottla: Ottla, topic: str, group: str) -> None:
    found = ottla.run("doctor", "--topic", f"{topic}x", "--group", f"{group}x", "-o", "json")
    problems = [each["what"] for each in json.loads(found.out) if each["level"] == "problem"]
    assert [each.partition(";")[2].strip().startswith("did you mean") for each in problems] == [
        True,
        True,
    ]
