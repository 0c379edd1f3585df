"""Moves of replicas between the log directories of a broker: begun, told of, and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.reassignment_files import ANY_DIRECTORY, Target, names
from ottla.client.administration.brokers import Brokers
from ottla.protocol.errors import ErrorCode

DEFAULT_TIMEOUT_MS: Final = 10_000
_RETRY_S: Final = 0.1


class Replica(NamedTuple):
    """A partition on a broker."""

    broker: int
    partition: TopicPartition

    def __str__(self) -> str:
        return f"{self.partition}-{self.broker}"


class Place(NamedTuple):
    """Where a replica is, and where it is on its way to; None where there is no such directory."""

    current: str | None
    future: str | None


def wanted_directories(moves: Mapping[TopicPartition, Target]) -> dict[Replica, str]:
    """The directories that were named, of all that --reassignment-json-file says."""
    return {
        Replica(broker, partition): directory
        for partition, target in moves.items()
        for broker, directory in zip(target.replicas, target.log_dirs, strict=True)
        if directory != ANY_DIRECTORY
    }


async def start_moves(admin: Brokers, wanted: Mapping[Replica, str], timeout_ms: int) -> None:
    """Begin moves and say so; a replica that is still on its way to its broker is waited for."""
    deadline = monotonic() + timeout_ms / 1000
    left = dict(sorted(wanted.items()))
    while left := await _start(admin, left):
        if monotonic() > deadline:
            plural = "s" if len(left) > 1 else ""
            raise Failed(
                f"Timed out before log directory move{plural} could be started for: "
                f"{names(list(left))}"
            )
        await asyncio.sleep(_RETRY_S)


async def _start(admin: Brokers, wanted: Mapping[Replica, str]) -> dict[Replica, str]:
    """Begin what can be begun; what has to wait."""
    left = {}
    for broker in sorted({replica.broker for replica in wanted}):
        here = {each.partition: path for each, path in wanted.items() if each.broker == broker}
        outcomes = await admin.alter_replica_log_dirs(broker, here)
        for partition, path in here.items():
            outcome = outcomes[partition]
            if outcome is None:
                # Kafka's tool has a blank before the end of the line, and scripts know its output.
                print(
                    f"Successfully started moving log directory to {path} for replica "
                    f"{partition} with broker {broker} "
                )
            elif outcome.code == ErrorCode.REPLICA_NOT_AVAILABLE:
                left[Replica(broker, partition)] = path
            else:
                raise Failed(f"Failed to alter dir for {Replica(broker, partition)}: {outcome}")
    return left


async def places_of(admin: Brokers, wanted: Mapping[Replica, str]) -> dict[Replica, Place]:
    """Where replicas are, and where they are on their way to; those that are nowhere are left out."""
    brokers = sorted({replica.broker for replica in wanted})
    found: dict[Replica, Place] = {}
    for broker, directories in (await admin.describe_log_dirs(brokers)).items():
        for path, directory in directories.items():
            if isinstance(directory, ApiError):
                continue
            for partition, held in directory.replicas.items():
                replica = Replica(broker, partition)
                known = found.get(replica, Place(None, None))
                found[replica] = (
                    known._replace(future=path) if held.future else known._replace(current=path)
                )
    return found


def is_moving(place: Place | None) -> bool:
    """Whether a replica is not yet where it shall be, or nobody knows."""
    return place is None or place.current is None or place.future is not None


def state_of(replica: Replica, wanted: str, place: Place | None) -> str:
    """How far a move is."""
    what = f"Partition {replica.partition}"
    if place is None:
        return f"{what} cannot be found in any live log directory on broker {replica.broker}."
    if place.current is None:
        return (
            f"{what} is not found in any live log dir on broker {replica.broker}. There is likely "
            "an offline log directory on the broker."
        )
    if place.future is not None:
        if place.future == wanted:
            return f"Reassignment of replica {replica} is still in progress."
        return (
            f"{what} on broker {replica.broker} is being moved to log dir {place.future} instead "
            f"of {wanted}."
        )
    if place.current == wanted:
        return f"Reassignment of replica {replica} completed successfully."
    return (
        f"{what} on broker {replica.broker} is not being moved from log dir {place.current} to "
        f"{wanted}."
    )
