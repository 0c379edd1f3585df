"""Quotas of users, clients and addresses, and the SCRAM credentials of users, for kafka-configs."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from ottla.base.errors import ApiError
from ottla.cli.kafka.configs import DEFAULT_ENTITY, Changes, Entities
from ottla.cli.kafka.java_names import java_name
from ottla.cli.kafka.options import Failed
from ottla.client.administration.credentials import Credentials, ScramCredential, ScramMechanism
from ottla.client.administration.quotas import QuotaEntity, QuotaFilter, QuotaMatch, Quotas
from ottla.inspection.outcomes import raise_first

# As the protocol calls them, and as Kafka's tools print them.
_COMPONENTS: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
_TITLES: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_QUOTAS: Final = frozenset(
    ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
)
_ADDRESS_QUOTAS: Final = frozenset(("connection_creation_rate",))
_MECHANISMS: Final = {each.name.replace("_", "-"): each for each in ScramMechanism}
_ITERATIONS: Final = 4096


class QuotaAdmin(Quotas, Credentials):
    """What is asked about users, clients and addresses."""


async def describe_quotas(admin: QuotaAdmin, entities: Entities) -> None:
    """Print quotas, and where only users are meant their credentials."""
    filters = [
        _filter(_COMPONENTS[kind], name)
        for kind, name in zip_longest(entities.types, entities.names)
    ]
    found = await admin.describe_client_quotas(filters, strict=True)
    for entity, quotas in found.items():
        values = ", ".join(f"{name}={value}" for name, value in sorted(quotas.items()))
        print(f"Quota configs for {_title(entity)} are {values}")
    if entities.types == ["users"] and DEFAULT_ENTITY not in entities.names:
        await _describe_credentials(admin, entities.names)


async def alter_quotas(admin: QuotaAdmin, entities: Entities, changes: Changes) -> None:
    """Change quotas and credentials."""
    known = _known(entities)
    _refuse_unknown(entities, "added", [name for name in changes.added if name not in known])
    _refuse_unknown(entities, "deleted", [name for name in changes.deleted if name not in known])
    named = (*changes.added, *changes.deleted)
    credentials = [name for name in named if name in _MECHANISMS]
    if credentials and len(credentials) < len(named):
        raise Failed(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' "
            "using --bootstrap-server."
        )
    if credentials:
        await _alter_credentials(admin, entities.names[0], changes)
    else:
        await _alter_rates(admin, entities, changes)


async def _alter_rates(admin: QuotaAdmin, entities: Entities, changes: Changes) -> None:
    rates: dict[str, float | None] = {n: _rate(n, text) for n, text in changes.added.items()}
    rates.update(dict.fromkeys(changes.deleted))
    pairs = sorted(zip(entities.types, entities.names, strict=True))
    entity = tuple((_COMPONENTS[kind], name or None) for kind, name in pairs)
    raise_first(await admin.alter_client_quotas({entity: rates}))


def _filter(component: str, name: str | None) -> QuotaFilter:
    if name is None:
        return QuotaFilter(component)
    if name == DEFAULT_ENTITY:
        return QuotaFilter(component, QuotaMatch.DEFAULT)
    return QuotaFilter(component, QuotaMatch.EXACT, name)


def _title(entity: QuotaEntity) -> str:
    named = dict(entity)
    return ", ".join(
        f"the default {title}" if named[kind] is None else f"{title} '{named[kind]}'"
        for kind, title in _TITLES.items()
        if kind in named
    )


async def _describe_credentials(admin: QuotaAdmin, users: list[str]) -> None:
    for user, found in sorted((await admin.describe_user_scram_credentials(users or None)).items()):
        if not isinstance(found, ApiError):
            shown = ", ".join(
                f"{_mechanism_name(mechanism)}=iterations={iterations}"
                for mechanism, iterations in sorted(found.items())
            )
            print(f"SCRAM credential configs for user-principal '{user}' are {shown}")
        elif java_name(found.code).rpartition(".")[2] != "ResourceNotFoundException":
            print(f"Error retrieving SCRAM credential configs for user-principal '{user}': {found}")


def _mechanism_name(number: int) -> str:
    return next((name for name, each in _MECHANISMS.items() if each == number), str(number))


def _known(entities: Entities) -> frozenset[str]:
    if entities.types == ["ips"]:
        return _ADDRESS_QUOTAS
    return _QUOTAS | frozenset(_MECHANISMS) if entities.types == ["users"] else _QUOTAS


def _refuse_unknown(entities: Entities, verb: str, unknown: list[str]) -> None:
    if not unknown:
        return
    kinds = {"users": "quota and SCRAM credential", "clients": "quota", "ips": "connection quota"}
    kind = "clients" if "clients" in entities.types else entities.types[0]
    raise Failed(
        f"Only {kinds[kind]} configs can be {verb} for '{kind}' using --bootstrap-server. "
        f"Unexpected config names: {', '.join(unknown)}"
    )


def _rate(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Failed(f"Cannot parse quota configuration value for {name}: {text}") from None


async def _alter_credentials(admin: QuotaAdmin, user: str, changes: Changes) -> None:
    if user == DEFAULT_ENTITY:
        raise Failed(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM "
            "Credentials using --bootstrap-server."
        )
    raise_first(
        await admin.alter_user_scram_credentials(
            set=[_credential(user, name, text) for name, text in changes.added.items()],
            delete=[(user, _MECHANISMS[name]) for name in changes.deleted],
        )
    )


def _credential(user: str, mechanism: str, text: str) -> ScramCredential:
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    iterations = parts.get("iterations", str(_ITERATIONS))
    if not parts.get("password") or not iterations.isdecimal():
        raise Failed(
            f"Invalid credential for {mechanism}: it must look like "
            f"'{mechanism}=[iterations={_ITERATIONS},password=secret]'"
        )
    return ScramCredential(
        user, _MECHANISMS[mechanism], parts["password"].encode(), int(iterations)
    )
