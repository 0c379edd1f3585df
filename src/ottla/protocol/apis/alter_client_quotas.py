"""Pure: AlterClientQuotas (api 49): set and remove quotas of users, clients and addresses (KIP-546).

Versions: v1 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    float64,
    int16,
    int32,
    string,
)


class EntityData(Struct):
    """A part of an entity; no name stands for the default."""

    entity_type: str = string()
    entity_name: str | None = string(nullable=True)


class OpData(Struct):
    """An element of AlterClientQuotasRequest.entries.ops."""

    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class EntryData(Struct):
    """An element of AlterClientQuotasRequest.entries."""

    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


class AlterClientQuotasRequest(Request, key=ApiKey.ALTER_CLIENT_QUOTAS):
    """The changes, by entity."""

    entries: list[EntryData] = array(EntryData)
    validate_only: bool = boolean()


class EntryResult(Struct):
    """An element of AlterClientQuotasResponse.entries."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    entity: list[EntityData] = array(EntityData)


class AlterClientQuotasResponse(Response, key=ApiKey.ALTER_CLIENT_QUOTAS):
    """What became of each entity's changes."""

    throttle_time_ms: int = int32()
    entries: list[EntryResult] = array(EntryResult)
