"""SCRAM, by the transcripts of its RFCs, and against servers that are not what they seem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.errors import LoginFailed
from ottla.security.scram import MOST_ITERATIONS, ScramClient

# RFC 5802, section 5, and RFC 7677, section 3: user "user", password "pencil".
TRANSCRIPTS = {
    "sha1": (
        "fyko+d2lbbFgONRv9qkxdawL",
        "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    ),
    "sha256": (
        "rOprNGfwEbeRWgbNEkqO",
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ),
}
NONCE, _, SERVER_FIRST, _, SERVER_FINAL = TRANSCRIPTS["sha256"]


def client(user: str = "user", password: str = "pencil") -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "sha256", user, password, NONCE)


@pytest.mark.parametrize("hash_name", TRANSCRIPTS)
def test_the_conversation_of_the_rfc(hash_name: str) -> None:
    nonce, first, server_first, final, server_final = TRANSCRIPTS[hash_name]
    conversation = ScramClient("SCRAM", hash_name, "user", "pencil", nonce)
    assert conversation.respond(b"") == first.encode()
    assert conversation.respond(server_first.encode()) == final.encode()
    assert conversation.respond(server_final.encode()) is None


def test_commas_and_equals_signs_in_a_name_are_escaped() -> None:
    assert client("a,b=c").respond(b"") == b"n,,n=a=2Cb=3Dc,r=" + NONCE.encode()


@pytest.mark.parametrize(
    ("server_first", "why"),
    [
        (SERVER_FIRST.replace("4096", "4095"), "4095 iterations"),
        (SERVER_FIRST.replace("4096", str(MOST_ITERATIONS + 1)), "may not be who it seems"),
        (SERVER_FIRST.replace("4096", "-1"), "no answer of SCRAM-SHA-256"),
        (SERVER_FIRST.replace("rOpr", "xOpr"), "no answer of SCRAM-SHA-256"),
        (f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "no answer of SCRAM-SHA-256"),
        ("m=future," + SERVER_FIRST, "no answer of SCRAM-SHA-256"),
        (SERVER_FIRST.replace("W22", "W2*"), "base64"),
        ("e=unknown-user", "refused the login: unknown-user"),
    ],
)
def test_a_server_that_says_something_else_first(server_first: str, why: str) -> None:
    conversation = client()
    conversation.respond(b"")
    with pytest.raises(LoginFailed, match=why):
        conversation.respond(server_first.encode())


@pytest.mark.parametrize(
    ("server_final", "why"),
    [
        ("v=" + "A" * 43 + "=", "does not know the password itself"),
        ("", "does not know the password itself"),
        ("e=invalid-proof", "refused the login: invalid-proof"),
    ],
)
def test_a_server_that_cannot_prove_itself(server_final: str, why: str) -> None:
    conversation = client()
    conversation.respond(b"")
    conversation.respond(SERVER_FIRST.encode())
    with pytest.raises(LoginFailed, match=why):
        conversation.respond(server_final.encode())


@given(st.binary(max_size=100) | st.text("rsimve=,0123456789", max_size=40).map(str.encode))
def test_whatever_a_server_sends_ends_in_a_sentence(said: bytes) -> None:
    conversation = client()
    conversation.respond(b"")
    with pytest.raises(LoginFailed):
        conversation.respond(said)
