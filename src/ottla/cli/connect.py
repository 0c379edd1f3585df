"""From -b, --context and -X to clients of the cluster that is meant."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.base.errors import OttlaError
from ottla.cli.contexts import chosen_context, read_contexts
from ottla.client.errors import BrokerUnreachable

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.settings import ClientSettings

T = TypeVar("T")

BOOTSTRAP: Final = "bootstrap.servers"
BOOTSTRAP_VARIABLE: Final = "OTTLA_BOOTSTRAP_SERVERS"
DEFAULT_BOOTSTRAP: Final = "localhost:9092"
CLIENT_ID: Final = "ottla"
DEFAULTS: Final = {
    "client.id": CLIENT_ID,
    # A person waits less patiently than a program.
    "default.api.timeout.ms": "20000",
    "socket.connection.setup.timeout.ms": "3000",
}


def add_broker_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cluster to talk to."""
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT",
        help=f"brokers to ask first (default: the context's, else {DEFAULT_BOOTSTRAP})",
    )
    group.add_argument(
        "--context", metavar="NAME", help="use this context instead of the current one"
    )
    group.add_argument(
        "-X",
        dest="client_settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the client by Kafka's name; may be given again",
    )


def client_settings(arguments: argparse.Namespace) -> dict[str, str]:
    """All that was said of the client, the later the stronger: context, environment, options."""
    name = chosen_context(arguments.context)
    settings = dict(DEFAULTS)
    if name is not None:
        settings |= read_contexts().get(name)
    environment = os.environ.get(BOOTSTRAP_VARIABLE)
    if environment and not arguments.context:
        settings[BOOTSTRAP] = environment
    if arguments.bootstrap_server is not None:
        settings[BOOTSTRAP] = arguments.bootstrap_server
    settings |= assignments(arguments.client_settings, "-X")
    settings.setdefault(BOOTSTRAP, DEFAULT_BOOTSTRAP)
    return settings


def known_to(table: type[ClientSettings], settings: Mapping[str, str], *own: str) -> dict[str, Any]:
    """The settings that this sort of client knows: a context may serve clients of all sorts.

    What was given with -X for this command alone is kept: its client refuses it with a sentence.
    """
    from ottla.client.settings import is_known
    from ottla.security.settings import is_about_security

    return {
        name: value
        for name, value in settings.items()
        if is_known(table, name) or is_about_security(name) or name in own
    }


def assignments(texts: list[str], option: str) -> dict[str, str]:
    """Names and values of NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise OttlaError(f"{option} {text}: write it as NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def ask(
    arguments: argparse.Namespace, action: Callable[[Admin], Awaitable[T]], **changed: str
) -> T:
    """What the action returns, given an admin client; settings have _ for a dot."""
    return asyncio.run(asked(arguments, action, **changed))


async def asked(
    arguments: argparse.Namespace, action: Callable[[Admin], Awaitable[T]], **changed: str
) -> T:
    """The same for whoever is in an event loop already."""
    from ottla.client.admin import Admin
    from ottla.client.settings import AdminSettings

    settings = client_settings(arguments)
    settings |= {name.replace("_", "."): value for name, value in changed.items()}
    own = assignments(arguments.client_settings, "-X")
    async with Admin(known_to(AdminSettings, settings, *own)) as admin:
        try:
            return await action(admin)
        except BrokerUnreachable as failure:
            raise _with_advice(failure, arguments, settings[BOOTSTRAP]) from None


def _with_advice(
    failure: BrokerUnreachable, arguments: argparse.Namespace, servers: str
) -> BrokerUnreachable:
    named = arguments.bootstrap_server or os.environ.get(BOOTSTRAP_VARIABLE)
    context = None if named else chosen_context(arguments.context)
    if context is not None:
        return BrokerUnreachable(f"{failure} (the address is that of context {context})")
    if servers == DEFAULT_BOOTSTRAP:
        return BrokerUnreachable(
            f"{failure} (`ottla up` starts a broker; -b HOST:PORT names another)"
        )
    return failure
