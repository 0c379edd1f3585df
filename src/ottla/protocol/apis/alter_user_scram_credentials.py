"""Pure: AlterUserScramCredentials (api 51): set and remove passwords of users (KIP-554)."""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, blob, int8, int16, int32, string


class ScramCredentialDeletion(Struct):
    """An element of AlterUserScramCredentialsRequest.deletions."""

    name: str = string()
    mechanism: int = int8()


class ScramCredentialUpsertion(Struct):
    """An element of AlterUserScramCredentialsRequest.upsertions."""

    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = blob()
    salted_password: bytes = blob()


class AlterUserScramCredentialsRequest(Request, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS):
    """What to remove and what to set."""

    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResult(Struct):
    """An element of AlterUserScramCredentialsResponse.results."""

    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class AlterUserScramCredentialsResponse(Response, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS):
    """What became of each user's changes."""

    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
