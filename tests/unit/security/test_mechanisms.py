"""PLAIN and OAUTHBEARER: one message, and what may be said to it."""

import json
from base64 import urlsafe_b64decode

import pytest

from ottla.security.errors import LoginFailed
from ottla.security.mechanisms import OauthBearerClient, PlainClient, unsecured_token

NOW_MS = 1_700_000_000_000


def test_plain_says_everything_at_once() -> None:
    conversation = PlainClient("ann", "sécret")
    assert conversation.respond(b"") == "\0ann\0sécret".encode()
    assert conversation.respond(b"") is None


def test_a_token_is_shown_once() -> None:
    conversation = OauthBearerClient("a.b.c")
    assert conversation.respond(b"") == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    assert conversation.respond(b"") is None


def test_a_token_that_is_not_accepted() -> None:
    conversation = OauthBearerClient("a.b.c")
    conversation.respond(b"")
    with pytest.raises(LoginFailed, match=r'does not accept the token: {"status":"invalid_token"}'):
        conversation.respond(b'{"status":"invalid_token"}')


def test_an_unsigned_token_has_the_claims_of_the_options() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "ann",
        "unsecuredLoginNumberClaim_level": "7",
        "unsecuredLoginListClaim_scope": "|read|write",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    header, claims, signature = unsecured_token(options, NOW_MS).split(".")
    assert signature == ""
    assert json.loads(urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(urlsafe_b64decode(claims + "==")) == {
        "sub": "ann",
        "level": 7.0,
        "scope": ["read", "write"],
        "iat": NOW_MS / 1000,
        "exp": NOW_MS / 1000 + 60,
    }
