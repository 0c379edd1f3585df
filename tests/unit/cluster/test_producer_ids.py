"""Producer ids are unique, whoever asks and however often the broker restarts."""

import asyncio
from pathlib import Path

import pytest

from ottla.base.errors import ClusterError
from ottla.base.units import LONG_MAX
from ottla.cluster.producer_ids import BLOCK_SIZE, ProducerIds
from ottla.cluster.sqlite_tree import open_tree
from ottla.cluster.znodes import PRODUCER_ID_BLOCK, ProducerIdBlock, encode_producer_ids

from .stories import story


@story
async def test_ids_of_one_broker_follow_each_other_from_zero(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    ids = ProducerIds(tree, 1)
    given = [await ids.next_producer_id() for _ in range(2 * BLOCK_SIZE + 1)]
    assert given == list(range(2 * BLOCK_SIZE + 1))
    await tree.close()


@story
async def test_brokers_that_race_never_give_the_same_id(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    brokers = [ProducerIds(tree, broker) for broker in range(5)]
    asked = [broker.next_producer_id() for _ in range(700) for broker in brokers]
    given = await asyncio.gather(*asked)
    assert len(set(given)) == 3_500
    data, _ = await tree.get(PRODUCER_ID_BLOCK)
    assert b'"block_end":"4999"' in data, "all who waited shared a block"
    await tree.close()


@story
async def test_after_a_restart_a_new_block_is_begun(tmp_path: Path) -> None:
    for expected in (0, BLOCK_SIZE):
        tree = open_tree(tmp_path / "tree")
        assert await ProducerIds(tree, 1).next_producer_id() == expected
        await tree.close()


@story
async def test_a_caller_who_leaves_does_not_take_the_block_along(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    ids = ProducerIds(tree, 1)
    leaver = asyncio.ensure_future(ids.next_producer_id())
    stayer = asyncio.ensure_future(ids.next_producer_id())
    await asyncio.sleep(0)
    leaver.cancel()
    assert await stayer == 0
    assert await ids.next_producer_id() == 1
    await tree.close()


@story
async def test_ids_that_are_used_up_are_not_given_again(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    last = ProducerIdBlock(1, LONG_MAX - BLOCK_SIZE, LONG_MAX)
    await tree.create(PRODUCER_ID_BLOCK, encode_producer_ids(last))
    with pytest.raises(ClusterError, match="used up"):
        await ProducerIds(tree, 1).next_producer_id()
    await tree.close()


@story
async def test_an_id_is_taken_at_once_or_soon(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    ids = ProducerIds(tree, 1)
    assert ids.take() is None
    assert ids.take() is None
    await ids.ensure()
    taken = [ids.take() for _ in range(BLOCK_SIZE)]
    assert taken == list(range(BLOCK_SIZE))
    assert ids.take() is None
    assert await ids.next_producer_id() == BLOCK_SIZE
    await tree.close()
