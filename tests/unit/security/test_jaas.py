"""sasl.jaas.config as people write it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.jaas import parse_jaas

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    "text",
    [
        f'{MODULE} required username="ann" password="secret";',
        f"{MODULE} required username='ann' password='secret';",
        f"{MODULE} required username=ann password=secret;",
        f'\n  {MODULE}\n  REQUIRED\n  username = "ann"\n  password = "secret" ;\n',
        f'{MODULE} required // who\n username="ann" /* and what */ password="secret";',
    ],
)
def test_a_login_is_taken_apart(text: str) -> None:
    entry = parse_jaas(text)
    assert entry.module == MODULE
    assert entry.kind == "ScramLoginModule"
    assert entry.options == {"username": "ann", "password": "secret"}


def test_escapes_between_quotes_are_javas() -> None:
    entry = parse_jaas(MODULE + r' required password="a\"b\\c\td\101;\q";')
    assert entry.options == {"password": 'a"b\\c\tdA;q'}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be of the form"),
        ("hunter2", "must be of the form"),
        (f'{MODULE} username="ann" password="hunter2";', "must be of the form"),
        (f'{MODULE} required username="ann" password="hunter2"', "must end with a semicolon"),
        (f"{MODULE} required password=;", "pairs such as"),
        (f'{MODULE} required "hunter2";', "pairs such as"),
        (f'{MODULE} required password="hunter2;', "quotation mark"),
        (f'{MODULE} required password="hunter2"; {MODULE} required;', "one login module only"),
    ],
)
def test_what_cannot_be_read_is_not_repeated(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        parse_jaas(text)
    assert "hunter2" not in str(caught.value)


def test_a_login_does_not_show_itself() -> None:
    assert "hunter2" not in repr(parse_jaas(f'{MODULE} required password="hunter2";'))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=20)))
def test_what_is_quoted_comes_back(options: dict[str, str]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    pairs = " ".join(f"{name}={quoted(value)}" for name, value in options.items())
    assert parse_jaas(f"{MODULE} required {pairs};").options == options


@given(st.text(max_size=60))
def test_any_text_is_a_login_or_a_sentence(text: str) -> None:
    with suppress(ValueError):
        assert parse_jaas(text).module
