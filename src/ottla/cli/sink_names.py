"""Finds the sinks of transaction groups, which ottla alone has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, OttlaError
from ottla.cli.connect import add_broker_arguments
from ottla.cli.names import NotThere
from ottla.cli.output import add_output_argument
from ottla.cli.parsing import did_you_mean
from ottla.cli.questions import add_yes_argument
from ottla.client.errors import UnsupportedByBroker
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.sinks import SinkDescription


def add_sink_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of commands that change one sink, once they were told that this is meant."""
    parser.add_argument("sink", metavar="SINK")
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


async def all_sinks(admin: Admin) -> dict[int, list[SinkDescription]]:
    """All sinks by the broker that coordinates them."""
    try:
        return await admin.list_sinks()
    except UnsupportedByBroker:
        raise _not_ottla() from None


async def find_sink(admin: Admin, name: str) -> SinkDescription:
    """A sink by its id."""
    try:
        found = (await admin.describe_sinks([name]))[name]
    except UnsupportedByBroker:
        raise _not_ottla() from None
    if not isinstance(found, ApiError):
        return found
    if found.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise found
    known = [each.sink_id for sinks in (await admin.list_sinks()).values() for each in sinks]
    hint = did_you_mean(name, known) or "; `ottla sinks list` shows what there is"
    raise NotThere(f"there is no sink {name}{hint}")


def _not_ottla() -> OttlaError:
    return OttlaError("this broker has no sinks: it is not ottla")
