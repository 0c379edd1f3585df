"""Asks the coordinator of a sink: open it, open a slot of a batch, commit a batch, give one up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ottla.base.errors import ApiError
from ottla.client.cluster import TRANSACTION, Cluster
from ottla.client.errors import check
from ottla.pipeline.writing import Slot
from ottla.protocol.apis.abort_txn_group import AbortTxnGroupRequest
from ottla.protocol.apis.commit_txn_group import CommitTxnGroupRequest, GroupSlot
from ottla.protocol.apis.describe_sinks import DescribedSink, DescribeSinksRequest
from ottla.protocol.apis.open_sink import OpenSinkRequest
from ottla.protocol.apis.open_sink_slot import OpenSinkSlotRequest
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request


class OpenedSink(NamedTuple):
    """Where a sink stands when a run begins to write to it."""

    generation: int
    committed_batch: int
    committed_digest: str


class TxnGroups:
    """The transaction groups of sinks, one cluster's."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def open_sink(
        self, sink_id: str, run_id: str, *, timeout_ms: int, ephemeral: bool
    ) -> OpenedSink:
        """Make a run the current one of its sink, or find that it is."""
        answer = await self._ask(
            sink_id,
            OpenSinkRequest(
                sink_id=sink_id, run_id=run_id, timeout_ms=timeout_ms, ephemeral=ephemeral
            ),
        )
        return OpenedSink(answer.generation, answer.committed_batch, answer.committed_digest)

    async def keep_alive(
        self, sink_id: str, run_id: str, *, timeout_ms: int, ephemeral: bool
    ) -> None:
        """Tell that a run is alive, if it is the sink's; a sink that is over, or another run's, stays as it is."""
        try:
            found = await self.describe(sink_id)
        except ApiError as error:
            if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return
            raise
        if found.run_id == run_id:
            await self.open_sink(sink_id, run_id, timeout_ms=timeout_ms, ephemeral=ephemeral)

    async def open_slot(
        self, sink_id: str, generation: int, batch: int, partition: int, attempt: int
    ) -> Slot:
        """The producer of a task attempt; asked again, the same one, and the sink is known to be alive."""
        answer = await self._ask(
            sink_id,
            OpenSinkSlotRequest(
                sink_id=sink_id,
                generation=generation,
                batch=batch,
                partition=partition,
                attempt=attempt,
            ),
        )
        return Slot(answer.transactional_id, answer.producer_id, answer.producer_epoch)

    async def commit(
        self,
        sink_id: str,
        generation: int,
        batch: int,
        digest: str,
        slots: Sequence[Slot],
        *,
        timeout_ms: int,
    ) -> None:
        """What the slots have written counts from now on; asked again until that is certain."""
        request = CommitTxnGroupRequest(
            sink_id=sink_id,
            generation=generation,
            batch=batch,
            digest=digest,
            slots=[
                GroupSlot(transactional_id=name, producer_id=producer_id, producer_epoch=epoch)
                for name, producer_id, epoch in slots
            ],
        )
        await self._ask(sink_id, request, timeout_ms=timeout_ms)

    async def describe(self, sink_id: str) -> DescribedSink:
        """What the coordinator knows of a sink."""
        request = DescribeSinksRequest(sink_ids=[sink_id])
        answer = await self._cluster.ask_coordinator(sink_id, request, kind=TRANSACTION)
        check(answer.error_code)
        found: DescribedSink = answer.sinks[0]
        check(found.error_code, found.error_message)
        return found

    async def abort(self, sink_id: str, generation: int, *, timeout_ms: int) -> None:
        """Nothing that open slots have written counts."""
        request = AbortTxnGroupRequest(sink_id=sink_id, generation=generation)
        await self._ask(sink_id, request, timeout_ms=timeout_ms)

    async def _ask(self, sink_id: str, request: Request, *, timeout_ms: int | None = None) -> Any:
        """An answer without error; what may pass is asked again, each time under request.timeout.ms."""
        once_ms = self._cluster.settings.request_timeout_ms

        async def attempt() -> Any:
            answer = await self._cluster.ask_coordinator(
                sink_id, request, kind=TRANSACTION, timeout_ms=once_ms
            )
            check(answer.error_code, answer.error_message)
            return answer

        return await self._cluster.retried(attempt, timeout_ms=timeout_ms)
