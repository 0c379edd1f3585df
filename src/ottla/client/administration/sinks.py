"""Sinks of transaction groups, which ottla alone has: where they stand, and how to make them forget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ottla.client.administration.base import Administration, Outcome, gathered, tried
from ottla.client.cluster import TRANSACTION
from ottla.client.errors import check
from ottla.protocol.apis.abort_txn_group import AbortTxnGroupRequest
from ottla.protocol.apis.describe_sinks import DescribedSink, DescribeSinksRequest
from ottla.protocol.apis.reset_sink import ResetSinkRequest


class SlotDescription(NamedTuple):
    """A part of a batch that is being written, or ended."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    batch: int
    partition: int
    attempt: int
    state: str


class SinkDescription(NamedTuple):
    """A sink; -1 as the committed batch stands for none."""

    sink_id: str
    run_id: str
    generation: int
    committed_batch: int
    committed_digest: str
    ephemeral: bool
    timeout_ms: int
    updated_ms: int
    slots: tuple[SlotDescription, ...]


class Sinks(Administration):
    """Administration of sinks."""

    async def list_sinks(self) -> dict[int, list[SinkDescription]]:
        """All sinks by the node that coordinates them."""
        return await self.cluster.retried(self._list_sinks)

    async def describe_sinks(self, sink_ids: Iterable[str]) -> dict[str, Outcome[SinkDescription]]:
        """Sinks by their ids."""
        wanted = sorted(set(sink_ids))
        answers = await gathered(tried(self._describe_sink(each)) for each in wanted)
        return dict(zip(wanted, answers, strict=True))

    async def abort_sink(self, sink_id: str) -> None:
        """Abort what a sink has open; what it has committed stays."""
        found = await self._describe_sink(sink_id)
        request = AbortTxnGroupRequest(sink_id=sink_id, generation=found.generation)
        answer = await self.cluster.ask_coordinator(sink_id, request, kind=TRANSACTION)
        check(answer.error_code, answer.error_message)

    async def reset_sink(self, sink_id: str) -> None:
        """Make a sink forget what it has committed, and abort what it has open."""
        request = ResetSinkRequest(sink_id=sink_id)
        answer = await self.cluster.ask_coordinator(sink_id, request, kind=TRANSACTION)
        check(answer.error_code, answer.error_message)

    async def _list_sinks(self) -> dict[int, list[SinkDescription]]:
        found = {}
        for node, answer in (await self.ask_brokers(DescribeSinksRequest(sink_ids=None))).items():
            # A coordinator that is loading does not know its sinks yet.
            check(answer.error_code)
            found[node] = [_described(each) for each in answer.sinks if not each.error_code]
        return found

    async def _describe_sink(self, sink_id: str) -> SinkDescription:
        request = DescribeSinksRequest(sink_ids=[sink_id])
        answer = await self.cluster.ask_coordinator(sink_id, request, kind=TRANSACTION)
        [found] = answer.sinks
        check(found.error_code, found.error_message)
        return _described(found)


def _described(found: DescribedSink) -> SinkDescription:
    return SinkDescription(
        found.sink_id,
        found.run_id,
        found.generation,
        found.committed_batch,
        found.committed_digest,
        found.ephemeral,
        found.timeout_ms,
        found.updated_ms,
        tuple(
            SlotDescription(
                each.transactional_id,
                each.producer_id,
                each.producer_epoch,
                each.batch,
                each.partition,
                each.attempt,
                each.state,
            )
            for each in found.slots
        ),
    )
