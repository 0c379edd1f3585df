"""Producer ids: unique in the cluster, taken from the tree in blocks of 1,000."""

import asyncio

from ottla.base.errors import ClusterError
from ottla.base.units import LONG_MAX
from ottla.cluster.tree import BadVersion, NodeExists, NoNode, Tree
from ottla.cluster.znodes import (
    PRODUCER_ID_BLOCK,
    ProducerIdBlock,
    decode_producer_ids,
    encode_producer_ids,
)

BLOCK_SIZE = 1_000


class ProducerIds:
    """Gives away the producer ids of a block, and claims the next one when it is used up."""

    __slots__ = ("_broker_id", "_claim", "_end", "_next", "_refilling", "_tree")

    def __init__(self, tree: Tree, broker_id: int) -> None:
        self._tree = tree
        self._broker_id = broker_id
        self._next = 0
        self._end = -1
        self._claim: asyncio.Task[ProducerIdBlock] | None = None
        self._refilling: asyncio.Future[None] | None = None

    async def next_producer_id(self) -> int:
        """Returns an id that no producer of the cluster was ever given."""
        await self.ensure()
        self._next += 1
        return self._next - 1

    async def ensure(self) -> None:
        """Returns when `take` has an id to give."""
        while self._next > self._end:
            await self._refill()

    def take(self) -> int | None:
        """Returns an id at once; None while the next block is being claimed, which this sets off."""
        if self._next > self._end:
            if self._claim is None:
                self._refilling = asyncio.ensure_future(self._refill())
                # Should it fail, whoever comes next sets it off again.
                self._refilling.add_done_callback(lambda done: done.cancelled() or done.exception())
            return None
        self._next += 1
        return self._next - 1

    async def _refill(self) -> None:
        # All who wait share one claim, and none of them can cancel it for the others.
        if self._claim is None:
            self._claim = asyncio.create_task(claim_block(self._tree, self._broker_id))
        claim = self._claim
        try:
            block = await asyncio.shield(claim)
        finally:
            if claim.done() and self._claim is claim:
                self._claim = None
        if block.start > self._end:
            self._next, self._end = block.start, block.end


async def claim_block(tree: Tree, broker_id: int) -> ProducerIdBlock:
    """Takes the block after the one that was taken last, by compare-and-set."""
    while True:
        try:
            data, stat = await tree.get(PRODUCER_ID_BLOCK)
        except NoNode:
            block = ProducerIdBlock(broker_id, 0, BLOCK_SIZE - 1)
            try:
                await tree.create(PRODUCER_ID_BLOCK, encode_producer_ids(block))
            except NodeExists:
                continue
            return block
        block = _following(decode_producer_ids(PRODUCER_ID_BLOCK, data), broker_id)
        try:
            await tree.set(PRODUCER_ID_BLOCK, encode_producer_ids(block), stat.version)
        except BadVersion:
            continue
        return block


def _following(last: ProducerIdBlock, broker_id: int) -> ProducerIdBlock:
    if last.end > LONG_MAX - BLOCK_SIZE:
        raise ClusterError("all producer ids are used up; they cannot be given away twice")
    return ProducerIdBlock(broker_id, last.end + 1, last.end + BLOCK_SIZE)
