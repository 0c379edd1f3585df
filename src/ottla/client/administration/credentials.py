"""Passwords of users for SCRAM (KIP-554): the client salts them, the broker never sees them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.client.administration.base import Administration, Outcome, outcome
from ottla.client.errors import check
from ottla.protocol.apis.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.protocol.apis.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

SALT_BYTES: Final = 24


class ScramMechanism(IntEnum):
    """A kind of SCRAM."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class ScramCredential(NamedTuple):
    """A password to set; without a salt, a random one."""

    user: str
    mechanism: ScramMechanism
    password: bytes
    iterations: int = 4096
    salt: bytes = b""


class Credentials(Administration):
    """Administration of passwords."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, Outcome[dict[int, int]]]:
        """For each user, or for all, the mechanisms with their iterations."""
        wanted = None if users is None else [UserName(name=name) for name in users]
        response = await self.ask_any(DescribeUserScramCredentialsRequest(users=wanted))
        check(response.error_code, response.error_message)
        return {
            result.user: outcome(
                result.error_code,
                result.error_message,
                {info.mechanism: info.iterations for info in result.credential_infos},
            )
            for result in response.results
        }

    async def alter_user_scram_credentials(
        self,
        *,
        set: Iterable[ScramCredential] = (),
        delete: Iterable[tuple[str, ScramMechanism]] = (),
    ) -> dict[str, Outcome[None]]:
        """Set passwords and delete some; the outcome for each user."""
        request = AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name=user, mechanism=kind) for user, kind in delete],
            upsertions=[_salted(credential) for credential in set],
        )
        response = await self.cluster.ask_controller(request)
        return {
            result.user: outcome(result.error_code, result.error_message, None)
            for result in response.results
        }


def _salted(credential: ScramCredential) -> ScramCredentialUpsertion:
    import hashlib
    import secrets

    salt = credential.salt or secrets.token_bytes(SALT_BYTES)
    digest = "sha256" if credential.mechanism == ScramMechanism.SCRAM_SHA_256 else "sha512"
    salted = hashlib.pbkdf2_hmac(digest, credential.password, salt, credential.iterations)
    return ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism,
        iterations=credential.iterations,
        salt=salt,
        salted_password=salted,
    )
