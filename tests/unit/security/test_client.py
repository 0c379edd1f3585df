"""What a client brings to a connection, made from its settings."""

from pathlib import Path

import pytest

from ottla.base.errors import ConfigError
from ottla.protocol.apis.sasl_authenticate import SaslAuthenticateRequest
from ottla.protocol.apis.sasl_handshake import SaslHandshakeResponse
from ottla.security.client import ClientSecurity
from ottla.security.settings import SecuritySettings

MODULES = "org.apache.kafka.common.security."
OAUTH = f"{MODULES}oauthbearer.OAuthBearerLoginModule required"


def secured(mechanism: str, jaas: str, **more: str) -> ClientSecurity:
    settings = SecuritySettings(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_jaas_config=jaas,
        **more,  # type: ignore[arg-type]
    )
    return ClientSecurity(settings)


def first_message(security: ClientSecurity) -> bytes:
    login = security.login()
    assert login is not None
    login.next(None)
    request = login.next(SaslHandshakeResponse())
    assert isinstance(request, SaslAuthenticateRequest)
    return request.auth_bytes


def test_a_login_is_fresh_each_time() -> None:
    jaas = f'{MODULES}scram.ScramLoginModule required username="ann" password="secret";'
    security = secured("SCRAM-SHA-512", jaas)
    assert security.context is None
    first, second = first_message(security), first_message(security)
    assert first.startswith(b"n,,n=ann,r=")
    assert first != second


def test_modules_under_a_vendors_package_are_kafkas() -> None:
    jaas = f'kafkashaded.{MODULES}plain.PlainLoginModule required username="ann" password="x";'
    assert first_message(secured("PLAIN", jaas)) == b"\0ann\0x"


def test_a_token_in_a_file_is_read_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text("one\n")
    url = file.as_uri()
    assert "%20" in url
    security = secured("OAUTHBEARER", f"{OAUTH};", sasl_oauthbearer_token_endpoint_url=url)
    assert b"Bearer one\x01" in first_message(security)
    file.write_text("two")
    assert b"Bearer two\x01" in first_message(security)


def test_a_token_for_tests_is_made_of_claims() -> None:
    claims = 'unsecuredLoginStringClaim_sub="ann"'
    assert b"auth=Bearer ey" in first_message(secured("OAUTHBEARER", f"{OAUTH} {claims};"))


@pytest.mark.parametrize(
    ("mechanism", "jaas", "why"),
    [
        ("PLAIN", "hunter2", "must be of the form"),
        ("PLAIN", f"{OAUTH} password=hunter2;", "does not suit sasl.mechanism=PLAIN"),
        ("SCRAM-SHA-256", f"{MODULES}plain.PlainLoginModule required;", "ScramLoginModule"),
        ("PLAIN", f"{MODULES}plain.PlainLoginModule required password=hunter2;", "username="),
        (
            "SCRAM-SHA-256",
            f"{MODULES}scram.ScramLoginModule required tokenauth=true password=hunter2;",
            "delegation tokens",
        ),
        ("OAUTHBEARER", f"{OAUTH} unsecuredLoginNumberClaim_x=hunter2;", "is none"),
    ],
)
def test_logins_that_cannot_be(mechanism: str, jaas: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        secured(mechanism, jaas)
    assert "hunter2" not in str(caught.value)


def test_a_token_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="the token cannot be read: No such file"):
        secured("OAUTHBEARER", f"{OAUTH};", sasl_oauthbearer_token_endpoint_url="file:///no/such")
