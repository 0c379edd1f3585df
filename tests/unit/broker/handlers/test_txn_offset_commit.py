"""TxnOffsetCommit: positions that count when the transaction of their producer commits."""

import uuid
from typing import Any

import pytest

from ottla.protocol.apis.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.apis.end_txn import EndTxnRequest
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import (
    COMING,
    Member,
    commit,
    delete,
    fetch,
    join,
    new_group,
)

_CONCURRENT = {*COMING, ErrorCode.CONCURRENT_TRANSACTIONS}
_TRANSACTION = 1


class Producer:
    """A transactional producer that does nothing but commit offsets, in one version of the API."""

    def __init__(self, client: Client, version: int = 3) -> None:
        self.client, self.version = client, version
        self.transactional_id = f"tx-{uuid.uuid4().hex[:12]}"
        find = FindCoordinatorRequest(
            key_type=_TRANSACTION, coordinator_keys=[self.transactional_id]
        )
        wait_for(lambda: client.ask(find, 4).coordinators[0].error_code == 0, "a coordinator", 30)
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=60_000
        )
        answer = self.until_ready(request, 4)
        assert answer.error_code == 0
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def until_ready(self, request: Any, version: int) -> Any:
        answers: list[Any] = []

        def is_ready() -> bool:
            answers.append(self.client.ask(request, version))
            return answers[-1].error_code not in _CONCURRENT

        wait_for(is_ready, "the transaction coordinator", 30)
        return answers[-1]

    def identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def commit(
        self, group: str, topic: str, offsets: dict[int, int], metadata: str = "", **who: Any
    ) -> dict[int, int]:
        """The error code of each partition; before version 5 the group is added first."""
        if self.version < 5:
            add = AddOffsetsToTxnRequest(group_id=group, **self.identity())
            assert self.until_ready(add, 3).error_code == 0
        partitions = [
            TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata
            )
            for index, offset in offsets.items()
        ]
        named = [TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)]
        request = TxnOffsetCommitRequest(group_id=group, topics=named, **self.identity(), **who)
        errors: dict[int, int] = {}

        def is_answered() -> bool:
            [answered] = self.client.ask(request, self.version).topics
            errors.update({each.partition_index: each.error_code for each in answered.partitions})
            return not _CONCURRENT & set(errors.values())

        wait_for(is_answered, "the offsets to be taken", 30)
        return errors

    def end(self, committed: bool) -> None:
        request = EndTxnRequest(committed=committed, **self.identity())
        answer = self.until_ready(request, 5 if self.version >= 5 else 3)
        assert answer.error_code == 0
        if self.version >= 5:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch


def wait_for_offset(client: Client, group: str, topic: str, offset: int) -> None:
    """Markers are written after the transaction has ended for its producer."""
    wait_for(
        lambda: fetch(client, group, topic, [0], stable=True)[0].offset == offset,
        f"offset {offset} of {group} to be stable",
    )


@pytest.mark.parametrize("version", range(6))
def test_an_offset_counts_when_its_transaction_commits(client: Client, version: int) -> None:
    topic, group, producer = client.new_topic(2), new_group(client), Producer(client, version)
    commit(client, group, topic, {0: 5})
    assert producer.commit(group, topic, {0: 9, 1: 1}, "text") == {0: 0, 1: 0}
    pending = fetch(client, group, topic, [0, 1], stable=True)
    assert {each.error for each in pending.values()} == {ErrorCode.UNSTABLE_OFFSET_COMMIT}
    assert {each.offset for each in pending.values()} == {-1}
    assert fetch(client, group, topic, [0])[0].offset == 5
    producer.end(committed=True)
    wait_for_offset(client, group, topic, 9)
    found = fetch(client, group, topic, [0, 1])
    assert [(each.offset, each.metadata) for each in found.values()] == [(9, "text"), (1, "text")]


@pytest.mark.parametrize("version", [0, 5])
def test_an_offset_of_an_aborted_transaction_never_was(client: Client, version: int) -> None:
    topic, group, producer = client.new_topic(), new_group(client), Producer(client, version)
    commit(client, group, topic, {0: 5})
    for offset in (9, 10):
        assert producer.commit(group, topic, {0: offset}) == {0: 0}
        producer.end(committed=False)
        wait_for_offset(client, group, topic, 5)


def test_only_members_of_this_generation_commit(client: Client) -> None:
    topic, group, producer = client.new_topic(), new_group(client), Producer(client)
    member = join(client, group, topic)

    def error(who: Member) -> int:
        named = {"member_id": who.member_id, "generation_id": who.generation}
        return producer.commit(group, topic, {0: 9}, **named)[0]

    assert error(member._replace(generation=7)) == ErrorCode.ILLEGAL_GENERATION
    assert error(Member("stranger", member.generation)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert error(member) == 0
    # Producers before 2.5 do not say who they are, and are believed.
    assert error(Member("", -1)) == 0


def test_a_group_that_does_not_exist_has_no_generations(client: Client) -> None:
    topic, group, producer = client.new_topic(), new_group(client), Producer(client)
    errors = producer.commit(group, topic, {0: 9}, member_id="m", generation_id=3)
    assert errors == {0: ErrorCode.ILLEGAL_GENERATION}


def test_what_does_not_exist_or_is_too_long_is_refused(client: Client) -> None:
    topic, group, producer = client.new_topic(), new_group(client), Producer(client)
    assert producer.commit(group, topic, {0: 9, 5: 1}) == {
        0: 0,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    too_long = producer.commit(group, topic, {0: 9}, metadata="x" * 4097)
    assert too_long == {0: ErrorCode.OFFSET_METADATA_TOO_LARGE}


def test_a_producer_that_was_replaced_is_fenced_and_nobody_else_notices(client: Client) -> None:
    topic, group, old = client.new_topic(), new_group(client), Producer(client)
    commit(client, group, topic, {0: 5})
    assert old.commit(group, topic, {0: 9}) == {0: 0}
    again = InitProducerIdRequest(
        transactional_id=old.transactional_id, transaction_timeout_ms=60_000
    )
    assert old.until_ready(again, 4).error_code == 0
    wait_for_offset(client, group, topic, 5)
    request = TxnOffsetCommitRequest(
        group_id=group,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=9)],
            )
        ],
        **old.identity(),
    )
    [refused] = client.ask(request, 3).topics
    assert refused.partitions[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert fetch(client, group, topic, [0], stable=True)[0].offset == 5


def test_deleting_an_offset_ends_what_a_transaction_holds(client: Client) -> None:
    topic, group, producer = client.new_topic(), new_group(client), Producer(client)
    assert producer.commit(group, topic, {0: 9}) == {0: 0}
    assert delete(client, group, topic, [0]).error_code == 0
    producer.end(committed=True)
    wait_for_offset(client, group, topic, -1)
