"""Pure: DescribeUserScramCredentials (api 50): which users have passwords of which kind (KIP-554)."""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class UserName(Struct):
    """An element of DescribeUserScramCredentialsRequest.users."""

    name: str = string()


class DescribeUserScramCredentialsRequest(Request, key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
    """Which users; null or none for all."""

    users: list[UserName] | None = array(UserName, nullable=True)


class CredentialInfo(Struct):
    """An element of DescribeUserScramCredentialsResponse.results.credential_infos."""

    mechanism: int = int8()
    iterations: int = int32()


class DescribeUserScramCredentialsResult(Struct):
    """An element of DescribeUserScramCredentialsResponse.results."""

    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


class DescribeUserScramCredentialsResponse(Response, key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
    """The users with their mechanisms: 1 for SCRAM-SHA-256, 2 for SCRAM-SHA-512."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
