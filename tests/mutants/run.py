"""`python -m tests.mutants.run MUTANT broker ...`: runs `ottla` with one function replaced by a worse one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from ottla.cli.main import main
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.remembered import RememberedGroup
from ottla.coordination.transactions import machine
from ottla.replication.partition import Partition
from ottla.storage.producer_state import ProducerState


def no_dedup() -> None:
    """A batch that is sent again is written again: neither its sequence nor its producer is looked at."""
    ProducerState.check = lambda *_: None


def no_epoch_bump_at_start() -> None:
    """A producer that takes over a transactional id gets the epoch of the one before, which goes on beside it."""
    _keep_epoch("fence", lambda aborted, found: aborted._replace(epoch=found.epoch))
    _keep_epoch(
        "initialize",
        lambda given, found: given._replace(
            transaction=given.transaction._replace(epoch=found.epoch)
        ),
    )


def no_epoch_bump_at_end() -> None:
    """A transaction ends without a new epoch, so that a request of the one before may end the next (KAFKA-17754)."""
    machine._bump = lambda prepared, found, _: prepared._replace(
        epoch=found.epoch, client_version=machine.FIRST_WITH_EPOCH_BUMP
    )


def no_generation_check() -> None:
    """Whoever was a member once may commit for its group for ever."""
    RememberedGroup.check_commit = lambda *_, **__: 0


def no_member_epoch_check() -> None:
    """The same in groups whose coordinator assigns (KIP-848)."""
    ConsumerGroup._check_epoch = lambda *_: 0


def ignored_aborted_index() -> None:
    """Readers of committed records are not told which transactions were aborted."""
    Partition.aborted_transactions = lambda *_: ()


def ignored_open_transactions() -> None:
    """Readers of committed records are given those of transactions that have not ended."""
    Partition.last_stable_offset = property(lambda self: self.high_watermark)


def _keep_epoch(name: str, kept: Callable[[Any, Any], Any]) -> None:
    original = getattr(machine, name)
    setattr(machine, name, lambda found, *rest: kept(original(found, *rest), found))


MUTANTS: Final = {
    mutant.__name__: mutant
    for mutant in (
        no_dedup,
        no_epoch_bump_at_start,
        no_epoch_bump_at_end,
        no_generation_check,
        no_member_epoch_check,
        ignored_aborted_index,
        ignored_open_transactions,
    )
}


def run(name: str, arguments: Sequence[str]) -> int:
    """Run `ottla` as that mutant."""
    MUTANTS[name]()
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
