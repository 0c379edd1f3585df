"""Quotas and passwords (SCRAM), of a cluster that has them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from ottla.base.errors import ApiError
from ottla.client.administration.credentials import ScramCredential, ScramMechanism
from ottla.client.administration.quotas import QuotaEntity
from ottla.http.rest.own.declare import CLUSTER, route
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.inspection.outcomes import raise_first

_TAG: Final = "Access"


class EntityPart(msgspec.Struct):
    """A user, client or address; a name of null is the default for all."""

    type: Literal["user", "client-id", "ip"]
    name: str | None = None


class QuotaData(msgspec.Struct):
    """The quotas of an entity."""

    entity: list[EntityPart]
    quotas: dict[str, float]


class QuotaList(msgspec.Struct):
    """All quotas."""

    data: list[QuotaData]


class QuotaChange(msgspec.Struct):
    """Quotas to set; null removes one."""

    entity: Annotated[list[EntityPart], msgspec.Meta(min_length=1, max_length=2)]
    quotas: dict[str, float | None]
    validate_only: bool = False


class ScramData(msgspec.Struct):
    """A kind of password that a user has."""

    mechanism: str
    iterations: int


class UserData(msgspec.Struct):
    """A user with passwords."""

    name: str
    credentials: list[ScramData]


class UserList(msgspec.Struct):
    """All users with passwords."""

    data: list[UserData]


class PasswordRequest(msgspec.Struct):
    """A password to set."""

    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    mechanism: Literal["SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    iterations: Annotated[int, msgspec.Meta(ge=4096, le=16384)] = 8192


async def list_quotas(call: Call) -> QuotaList:
    """Return all quotas."""
    found = await (await call.admin()).describe_client_quotas()
    return QuotaList(
        [QuotaData(_parts(each), quotas) for each, quotas in sorted(found.items(), key=str)]
    )


async def alter_quotas(call: Call) -> None:
    """Set quotas of an entity, or remove some."""
    wanted: QuotaChange = await call.body()
    entity: QuotaEntity = tuple(sorted(((each.type, each.name) for each in wanted.entity), key=str))
    admin = await call.admin()
    raise_first(
        await admin.alter_client_quotas({entity: wanted.quotas}, validate_only=wanted.validate_only)
    )


async def list_users(call: Call) -> UserList:
    """Return the users that have passwords."""
    found = await (await call.admin()).describe_user_scram_credentials()
    return UserList(
        [
            UserData(name, [ScramData(_mechanism(kind), count) for kind, count in each.items()])
            for name, each in sorted(found.items())
            if not isinstance(each, ApiError)
        ]
    )


async def set_password(call: Call) -> None:
    """Set a password: it is salted here, and the brokers never see it."""
    wanted: PasswordRequest = await call.body()
    credential = ScramCredential(
        call.path["user"],
        ScramMechanism[wanted.mechanism.replace("-", "_")],
        wanted.password.encode("utf-8"),
        wanted.iterations,
    )
    raise_first(await (await call.admin()).alter_user_scram_credentials(set=[credential]))


async def delete_password(call: Call) -> None:
    """Delete a password of a user."""
    text = call.path["mechanism"].replace("-", "_").upper()
    if text not in ScramMechanism.__members__:
        raise HttpError(404, "the mechanisms are SCRAM-SHA-256 and SCRAM-SHA-512", code=404)
    admin = await call.admin()
    wanted = (call.path["user"], ScramMechanism[text])
    raise_first(await admin.alter_user_scram_credentials(delete=[wanted]))


def _parts(entity: QuotaEntity) -> list[EntityPart]:
    return [msgspec.convert({"type": kind, "name": name}, EntityPart) for kind, name in entity]


def _mechanism(kind: int) -> str:
    return ScramMechanism(kind).name.replace("_", "-")


ROUTES: Final = (
    route("GET", f"{CLUSTER}/quotas", list_quotas, "List quotas", _TAG, answer=QuotaList),
    route("PATCH", f"{CLUSTER}/quotas", alter_quotas, "Set quotas", _TAG, body=QuotaChange),
    route("GET", f"{CLUSTER}/users", list_users, "List users with passwords", _TAG, answer=UserList),
    route("PUT", f"{CLUSTER}/users/{{user}}/password", set_password, "Set a password", _TAG,
          body=PasswordRequest),
    route("DELETE", f"{CLUSTER}/users/{{user}}/password/{{mechanism}}", delete_password,
          "Delete a password", _TAG),
)  # fmt: skip
