"""Quotas of users, clients and addresses (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from ottla.client.administration.base import Administration, Outcome, outcome
from ottla.client.errors import check
from ottla.protocol.apis import alter_client_quotas
from ottla.protocol.apis.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Whose quota: pairs such as ("user", "alice"), sorted by type; None in place of a name is the default."""


class QuotaMatch(IntEnum):
    """How the name of a component is compared."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(NamedTuple):
    """A component that entities must have."""

    entity_type: str
    match: int = QuotaMatch.ANY
    name: str | None = None


class Quotas(Administration):
    """Administration of quotas."""

    async def describe_client_quotas(
        self, filters: Iterable[QuotaFilter] = (), *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas of the entities that match all filters; `strict` allows no further components."""
        request = DescribeClientQuotasRequest(
            components=[
                ComponentData(entity_type=each.entity_type, match_type=each.match, match=each.name)
                for each in filters
            ],
            strict=strict,
        )
        response = await self.ask_any(request)
        check(response.error_code, response.error_message)
        return {
            _entity(entry.entity): {each.key: each.value for each in entry.values}
            for entry in response.entries or ()
        }

    async def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
    ) -> dict[QuotaEntity, Outcome[None]]:
        """Set quotas, or with None remove them."""
        entries = [_entry(entity, values) for entity, values in changes.items()]
        request = alter_client_quotas.AlterClientQuotasRequest(
            entries=entries, validate_only=validate_only
        )
        response = await self.cluster.ask_controller(request)
        return {
            _entity(entry.entity): outcome(entry.error_code, entry.error_message, None)
            for entry in response.entries
        }


def _entity(components: Iterable[Any]) -> QuotaEntity:
    pairs = ((each.entity_type, each.entity_name) for each in components)
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def _entry(
    entity: QuotaEntity, values: Mapping[str, float | None]
) -> alter_client_quotas.EntryData:
    return alter_client_quotas.EntryData(
        entity=[
            alter_client_quotas.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ],
        ops=[
            alter_client_quotas.OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in values.items()
        ],
    )
