"""A job that writes batches to a sink over the wire: a driver, and tasks with producers of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from ottla.protocol.apis.abort_txn_group import AbortTxnGroupRequest
from ottla.protocol.apis.commit_txn_group import CommitTxnGroupRequest, GroupSlot
from ottla.protocol.apis.describe_sinks import DescribedSink, DescribeSinksRequest
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.open_sink import OpenSinkRequest
from ottla.protocol.apis.open_sink_slot import OpenSinkSlotRequest
from ottla.protocol.apis.reset_sink import ResetSinkRequest
from ottla.protocol.schema import Request
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import PASSING, Transactor

_TRANSACTION = 1


class Task(Transactor):
    """A producer that was given to a slot; it writes, and never ends."""

    def __init__(self, client: Client, answer: Any) -> None:
        self.client = client
        self.id = answer.transactional_id
        self.produce_version, self.end_version = 12, 5
        self.timeout_ms = 60_000
        self.take(answer)

    def as_slot(self) -> GroupSlot:
        return GroupSlot(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch
        )


class Driver:
    """A run of a job."""

    def __init__(self, client: Client, sink_id: str = "", **options: Any) -> None:
        self.client = client
        self.sink_id = sink_id or f"sink-{uuid.uuid4().hex[:12]}"
        self.run_id = uuid.uuid4().hex
        self.options = {"timeout_ms": 60_000} | options
        find = FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=[self.sink_id])
        wait_for(lambda: not client.ask(find, 4).coordinators[0].error_code, "a coordinator", 30)
        answer = self.open()
        assert answer.error_code == 0, answer
        self.generation = answer.generation

    def ask(self, request: Request) -> Any:
        """The answer that stays: what passes is waited out."""
        return wait_for(
            lambda: [a for a in [self.client.ask(request)] if a.error_code not in PASSING],
            "the coordinator to settle",
            30,
        )[0]

    def open(self) -> Any:
        request = OpenSinkRequest(sink_id=self.sink_id, run_id=self.run_id, **self.options)
        return self.ask(request)

    def slot(self, batch: int, partition: int = 0, attempt: int = 0) -> Any:
        request = OpenSinkSlotRequest(
            sink_id=self.sink_id,
            generation=self.generation,
            batch=batch,
            partition=partition,
            attempt=attempt,
        )
        return self.ask(request)

    def task(self, batch: int, partition: int = 0, attempt: int = 0) -> Task:
        answer = self.slot(batch, partition, attempt)
        assert answer.error_code == 0, answer
        return Task(self.client, answer)

    def commit(self, batch: int, tasks: Iterable[Task] = (), digest: str = "d") -> int:
        """The error code."""
        request = CommitTxnGroupRequest(
            sink_id=self.sink_id,
            generation=self.generation,
            batch=batch,
            digest=digest,
            slots=[task.as_slot() for task in tasks],
        )
        return int(self.ask(request).error_code)

    def abort(self) -> int:
        request = AbortTxnGroupRequest(sink_id=self.sink_id, generation=self.generation)
        return int(self.ask(request).error_code)

    def reset(self) -> int:
        return int(self.ask(ResetSinkRequest(sink_id=self.sink_id)).error_code)

    def describe(self) -> DescribedSink:
        [found] = self.client.ask(DescribeSinksRequest(sink_ids=[self.sink_id])).sinks
        return found
