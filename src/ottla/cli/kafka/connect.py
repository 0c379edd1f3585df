"""From `--bootstrap-server` and `--command-config` to an admin client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ottla.cli.kafka.command import complain
from ottla.cli.kafka.options import Failed, Given
from ottla.client.administration.base import Administration
from ottla.client.settings import AdminSettings, is_known
from ottla.config.properties import parse_properties
from ottla.security.settings import is_about_security

T = TypeVar("T")
A = TypeVar("A", bound=Administration)

# A person waits: twice as long is what Kafka's clients take.
_DEFAULTS = {"socket.connection.setup.timeout.ms": "5000"}


def with_admin(
    sort: type[A], given: Given, action: Callable[[A], Awaitable[T]], **changed: str
) -> T:
    """What the action returns, given a client for the brokers that were named.

    `sort` is the part of Admin that the command needs: what it does not need is not imported.
    """
    servers = given.value("bootstrap-server") or ""
    return ask(sort, servers, given.value("command-config"), action, **changed)


def ask(
    sort: type[A],
    servers: str,
    config_file: str | None,
    action: Callable[[A], Awaitable[T]],
    **changed: str,
) -> T:
    """What the action returns, given a client for these brokers; settings have _ for a dot."""
    settings = admin_settings(servers, config_file)
    settings |= {name.replace("_", "."): value for name, value in changed.items()}

    async def act() -> T:
        async with sort(settings) as admin:
            return await action(admin)

    return asyncio.run(act())


def admin_settings(servers: str, config_file: str | None) -> dict[str, str]:
    """The settings of an admin client; what belongs to other clients in the file is passed over."""
    settings = dict(_DEFAULTS)
    for name, value in ({} if config_file is None else read_properties(config_file)).items():
        if is_known(AdminSettings, name) or is_about_security(name):
            settings[name] = value
        else:
            complain(f"{config_file}: {name} is no setting of an admin client and is ignored.")
    settings["bootstrap.servers"] = servers
    return settings


def read_properties(path: str) -> dict[str, str]:
    """The names and values of a properties file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except ValueError as flaw:
        raise Failed(f"{path}: {flaw}") from None
