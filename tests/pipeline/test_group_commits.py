"""A stream's offsets in a group: seen by others, and never in the way of the stream."""

import warnings
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer

from ottla.base.ids import TopicPartition
from ottla.client.sync_admin import SyncAdmin
from ottla.pipeline.group_commits import GroupCommits
from tests.pipeline.topics import committed
from tests.support.clients import unique_name
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat


@pytest.fixture
def client(bootstrap: str) -> Iterator[SyncAdmin]:
    with SyncAdmin({"bootstrap.servers": bootstrap}) as admin:
        yield admin


def test_a_busy_stream_commits_now_and_then_and_an_idle_one_at_once(
    client: SyncAdmin, bootstrap: str, topic: str
) -> None:
    group, one = unique_name("group"), TopicPartition(topic, 0)
    commits = GroupCommits(client, group)
    for offset in range(1, 4):
        commits.offer({one: offset}, idle=False)
    assert committed(bootstrap, group) == {(topic, 0): 1}
    commits.offer({one: 3}, idle=True)
    assert committed(bootstrap, group) == {(topic, 0): 3}


def test_a_group_that_has_members_draws_one_warning_and_no_error(
    client: SyncAdmin, bootstrap: str, topic: str
) -> None:
    group = unique_name("group")
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": group})) as member:
        member.subscribe([topic])
        wait_for(lambda: (member.poll(0.1), member.assignment())[1], "the member to join", 20)
        commits = GroupCommits(client, group)
        with pytest.warns(UserWarning, match=f"could not be committed to the group {group}"):
            commits.offer({TopicPartition(topic, 0): 1}, idle=True)
        commits._retry_at = 0.0  # as if the pause after a failure were over
        with warnings.catch_warnings(action="error"):
            commits.offer({TopicPartition(topic, 0): 2}, idle=True)
        assert commits._retry_at > 0.0, "the second offer was tried, and failed in silence"
