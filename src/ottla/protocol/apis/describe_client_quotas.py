"""Pure: DescribeClientQuotas (api 48): the quotas of users, clients and addresses (KIP-546).

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
    int8,
    int16,
    int32,
    string,
)


class ComponentData(Struct):
    """An element of DescribeClientQuotasRequest.components: match type 0 exact, 1 default, 2 any."""

    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable=True)


class DescribeClientQuotasRequest(Request, key=ApiKey.DESCRIBE_CLIENT_QUOTAS):
    """Whose quotas; strict leaves out entities with further components."""

    components: list[ComponentData] = array(ComponentData)
    strict: bool = boolean()


class EntityData(Struct):
    """An element of DescribeClientQuotasResponse.entries.entity; no name stands for the default."""

    entity_type: str = string()
    entity_name: str | None = string(nullable=True)


class ValueData(Struct):
    """An element of DescribeClientQuotasResponse.entries.values."""

    key: str = string()
    value: float = float64()


class EntryData(Struct):
    """An element of DescribeClientQuotasResponse.entries."""

    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


class DescribeClientQuotasResponse(Response, key=ApiKey.DESCRIBE_CLIENT_QUOTAS):
    """Entities with their quotas."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    entries: list[EntryData] | None = array(EntryData, nullable=True)
