"""Pure: what settings belong to, by type and name, as the config APIs address it."""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError
from ottla.controller.requests import ResourceType
from ottla.protocol.errors import ErrorCode

TOPIC: Final = int(ResourceType.TOPIC)
BROKER: Final = int(ResourceType.BROKER)
GROUP: Final = int(ResourceType.GROUP)
# Types that Kafka has and that have no settings here.
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
EVERY_TYPE: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def broker_named(name: str, node_id: int) -> int | None:
    """The broker that a resource name stands for, None for all of them; it must be this one."""
    if not name:
        return None
    if not (name.isascii() and name.isdigit()):
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"the name of a broker is its id, a number, not {name!r}"
        )
    if int(name) != node_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"this is broker {node_id}; ask broker {name} itself, or no broker for all of them",
        )
    return node_id
