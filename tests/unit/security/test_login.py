"""The requests of a login, and what brokers answer to them."""

import pytest

from ottla.protocol.apis.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from ottla.protocol.apis.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ottla.protocol.errors import ErrorCode
from ottla.security.errors import LoginFailed
from ottla.security.login import Login
from ottla.security.mechanisms import PlainClient


def begun() -> Login:
    login = Login(PlainClient("ann", "hunter2"))
    assert login.next(None) == SaslHandshakeRequest(mechanism="PLAIN")
    return login


def test_a_login_is_a_handshake_and_what_the_mechanism_says() -> None:
    login = begun()
    request = login.next(SaslHandshakeResponse(mechanisms=["PLAIN"]))
    assert request == SaslAuthenticateRequest(auth_bytes=b"\0ann\0hunter2")
    assert login.next(SaslAuthenticateResponse(session_lifetime_ms=60_000)) is None
    assert login.lifetime_ms == 60_000


def test_a_request_does_not_show_the_password() -> None:
    assert "hunter2" not in repr(begun().next(SaslHandshakeResponse()))


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, "it offers: GSSAPI, SCRAM-SHA-256"),
        (ErrorCode.ILLEGAL_SASL_STATE, "does not ask clients to log in"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "error code -1"),
    ],
)
def test_a_handshake_that_is_refused(code: int, why: str) -> None:
    refusal = SaslHandshakeResponse(error_code=code, mechanisms=["SCRAM-SHA-256", "GSSAPI"])
    with pytest.raises(LoginFailed, match=why):
        begun().next(refusal)


@pytest.mark.parametrize(
    ("code", "message", "why"),
    [
        (ErrorCode.SASL_AUTHENTICATION_FAILED, "No such user.", "No such user; check user and"),
        (ErrorCode.SASL_AUTHENTICATION_FAILED, None, "user name or password are wrong"),
        (ErrorCode.ILLEGAL_SASL_STATE, None, "error code 34"),
    ],
)
def test_a_message_that_is_refused(code: int, message: str | None, why: str) -> None:
    login = begun()
    login.next(SaslHandshakeResponse())
    with pytest.raises(LoginFailed, match=why):
        login.next(SaslAuthenticateResponse(error_code=code, error_message=message))
