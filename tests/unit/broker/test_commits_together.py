"""Commits that come again are taken for what they are, the same with another offset, and carried out together."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.metrics import Value
from ottla.broker import commits_together, metrics
from ottla.broker.commits_together import CommitsTogether
from ottla.broker.connection import Connection
from ottla.broker.context import Broker, RequestContext
from ottla.broker.repeated_commits import RepeatedCommit, remember
from ottla.broker.reply import HELD, Reply
from ottla.cluster.image import TopicImage
from ottla.coordination.groups.commit_again import CommitAgain
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.codec import decode_request, encode_request
from ottla.protocol.header import parse_request_header

pytestmark = pytest.mark.interpreted

TOPIC = TopicImage("t", UUID(int=7), (), 0)
FIRST_FLEXIBLE = 8
ANSWER = b"LEN!....kept"
versions = st.integers(6, 10)
texts = st.text(max_size=5)
requests = st.builds(
    OffsetCommitRequest,
    group_id=texts,
    generation_id_or_member_epoch=st.integers(-1, 300),
    member_id=texts,
    group_instance_id=st.none() | texts,
    topics=st.builds(
        OffsetCommitRequestTopic,
        name=texts,
        topic_id=st.just(UUID(int=7)),
        partitions=st.builds(
            OffsetCommitRequestPartition,
            partition_index=st.integers(0, 2**31 - 1),
            committed_offset=st.integers(0, 2**63 - 1),
            committed_leader_epoch=st.integers(-1, 2**31 - 1),
            committed_metadata=st.sampled_from([None, "", "m"]),
        ).map(lambda each: [each]),
    ).map(lambda each: [each]),
)


class Office:
    """A broker with a coordinator that writes down what it is given, but for the groups that it refuses."""

    def __init__(self) -> None:
        self.turns: list[list[str]] = []
        self.refuses: set[str] = set()
        self.image = SimpleNamespace(topics={TOPIC.name: TOPIC})
        self.metadata = SimpleNamespace(image=self.image)
        self.groups = self
        self.commits = CommitsTogether(cast(Broker, self))
        self.known: dict[RepeatedCommit, OffsetCommitRequest] = {}

    def write_together(self, writes: list[CommitAgain]) -> set[CommitAgain]:
        self.turns.append([write.key for write in writes])
        return {write for write in writes if write.key in self.refuses}

    def keep(self, frame: memoryview, ask: Callable[[RequestContext], Reply] | None = None) -> None:
        """What the handler does with a commit that it sees for the first time."""
        header = parse_request_header(frame, 0, len(frame))
        request = decoded(frame)
        context = RequestContext(
            cast(Broker, self), cast(Connection, None), header.version, 1, header.client_id
        )
        [topic] = request.topics
        asked = Commit(
            request.group_id, [TopicToCommit(topic.name, UUID(int=0), topic.partitions)], 9
        )
        commit = RepeatedCommit(context, request, TOPIC, asked, ANSWER, ask or cast(Any, None))
        remember(context, frame, header.body_pos, request, commit)
        self.known[commit] = request


class Answered:
    """A connection that remembers what it was told."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.last_active = 0.0
        self.aborted = False

    def answer(self, reply: Reply) -> None:
        self.replies.append(reply)

    def abort(self) -> None:
        self.aborted = True


def frame_of(
    request: OffsetCommitRequest,
    version: int,
    *,
    tags: bytes = b"",
    number: int = 1,
    client_id: str = "c",
) -> memoryview:
    """A request; with tags of its own if it is to have any."""
    out = bytearray(encode_request(request, version, number, client_id)[4:])
    if tags and version >= FIRST_FLEXIBLE:
        out[-1:] = tags
    return memoryview(out)


def decoded(frame: memoryview) -> OffsetCommitRequest:
    header = parse_request_header(frame, 0, len(frame))
    found: OffsetCommitRequest = decode_request(
        int(ApiKey.OFFSET_COMMIT), header.version, frame, header.body_pos, len(frame)
    )
    return found


def commit_of(group: str, offset: int) -> OffsetCommitRequest:
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    named = OffsetCommitRequestTopic(name="t", topic_id=UUID(int=7), partitions=[position])
    return OffsetCommitRequest(group_id=group, topics=[named])


def take(office: Office, frame: memoryview, by: Answered | None = None) -> Reply:
    return office.commits.take(cast(Connection, by or Answered()), frame)


@given(requests, requests, versions, st.integers(0, 9), st.sampled_from([b"", b"\1\5\3\0\0\0"]))
def test_what_is_taken_is_what_the_frame_says(
    first: OffsetCommitRequest, other: OffsetCommitRequest, version: int, offset: int, tags: bytes
) -> None:
    async def story() -> None:
        office = Office()
        office.keep(frame_of(first, version, tags=tags))
        [known] = office.known.values()
        again = decoded(frame_of(first, version))
        again.topics[0].partitions[0].committed_offset = offset
        for request in (again, other):
            frame = frame_of(request, version)
            if take(office, frame) is not None:
                sent = decoded(frame)
                sent.topics[0].partitions[0].committed_metadata = None
                known.topics[0].partitions[0].committed_metadata = None
                assert known == sent

    asyncio.run(story())


@pytest.mark.parametrize("version", range(6, 11))
def test_the_second_commit_is_known_by_its_bytes(version: int) -> None:
    async def story() -> None:
        office = Office()
        office.keep(frame_of(commit_of("g", 5), version))
        [known] = office.known.values()
        frame = frame_of(commit_of("g", 6), version, number=0x31323334)
        assert take(office, frame) == b"LEN!1234kept"
        assert known.topics[0].partitions[0].committed_offset == 6
        assert take(office, frame_of(commit_of("g", 6), version, client_id="another")) is None
        assert take(office, frame_of(commit_of("g", 6), 17 - version)) is None
        office.image.topics = {TOPIC.name: TopicImage("t", UUID(int=8), (), 0)}
        assert take(office, frame) is None
        assert office.turns == [["g"]]

    asyncio.run(story())


@pytest.mark.parametrize("data", [b"\0\x08", b"\0\x08\0\x09", bytes([1, 8]) + bytes(40)])
def test_what_is_no_commit_is_left_to_others(data: bytes) -> None:
    async def story() -> None:
        assert take(Office(), memoryview(data)) is None

    asyncio.run(story())


def test_the_first_of_a_turn_is_answered_at_once_and_the_others_together() -> None:
    async def story() -> None:
        office, askers = Office(), [Answered() for _ in range(5)]
        frames = [frame_of(commit_of(f"g{number}", 6), 9, number=number) for number in range(5)]
        for each in frames:
            office.keep(each)
        counted = requests_so_far()
        for turn in (1, 2):
            replies = [take(office, *each) for each in zip(frames, askers, strict=True)]
            assert replies == [b"LEN!\0\0\0\0kept", HELD, HELD, HELD, HELD]
            await asyncio.sleep(0)
            assert office.turns == turn * [["g0"], ["g1", "g2", "g3", "g4"]]
            assert [len(asker.replies) for asker in askers] == [0, turn, turn, turn, turn]
        assert askers[3].replies[0] == b"LEN!\0\0\0\3kept"
        assert requests_so_far() == counted + 10
        assert not any(commit.waits for commit in office.known)

    asyncio.run(story())


def requests_so_far() -> float:
    found: Value = metrics.REQUESTS.labels(api="OffsetCommit")
    return found.value


def test_the_same_commit_twice_in_a_turn_is_left_to_others_the_second_time() -> None:
    async def story() -> None:
        office, asker = Office(), Answered()
        for group in ("first", "g"):
            office.keep(frame_of(commit_of(group, 5), 9))
        assert take(office, frame_of(commit_of("first", 6), 9)) != HELD
        assert take(office, frame_of(commit_of("g", 6), 9), asker) is HELD
        assert take(office, frame_of(commit_of("g", 7), 9)) is None
        positions = [known.topics[0].partitions[0] for known in office.known.values()]
        assert [each.committed_offset for each in positions] == [6, 6]
        await asyncio.sleep(0)
        assert asker.replies == [b"LEN!\0\0\0\1kept"]

    asyncio.run(story())


def test_what_the_coordinator_does_not_write_at_once_is_asked_as_any_commit() -> None:
    def ask(context: RequestContext) -> Reply:
        if context.correlation_id == 9:
            raise ZeroDivisionError("a flaw")
        return f"asked by {context.client_id} v{context.version}".encode()

    async def story() -> None:
        office, askers = Office(), [Answered() for _ in range(4)]
        office.refuses = {"g0", "g2", "g3"}
        replies = []
        for number, asker in enumerate(askers):
            flawed = 9 if number == 3 else number
            frame = frame_of(commit_of(f"g{number}", 6), 8, number=flawed)
            office.keep(frame, ask)
            replies.append(take(office, frame, asker))
        assert replies == [b"asked by c v8", HELD, HELD, HELD]
        await asyncio.sleep(0)
        assert [asker.replies for asker in askers[1:]] == [
            [b"LEN!\0\0\0\1kept"],
            [b"asked by c v8"],
            [None],
        ]
        assert [asker.aborted for asker in askers] == [False, False, False, True]

    asyncio.run(story())


def test_a_flaw_of_the_coordinator_leaves_nobody_waiting() -> None:
    async def story() -> None:
        office, askers = Office(), [Answered() for _ in range(3)]
        frames = [frame_of(commit_of(f"g{number}", 6), 9) for number in range(3)]
        for each in frames:
            office.keep(each)
        replies = [take(office, *each) for each in zip(frames, askers, strict=True)]
        office.groups = cast(Any, None)
        before = metrics.UNEXPECTED_FAILURES.value
        await asyncio.sleep(0)
        assert replies[1:] == [HELD, HELD]
        assert [asker.aborted for asker in askers] == [False, True, True]
        assert metrics.UNEXPECTED_FAILURES.value == before + 1

    asyncio.run(story())


def test_no_more_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office()
    monkeypatch.setattr(commits_together, "_MOST_KNOWN", 3)
    for number in range(10):
        office.keep(frame_of(commit_of(f"g{number}", 5), 9))
        assert 0 < len(office.commits._known) <= 3
