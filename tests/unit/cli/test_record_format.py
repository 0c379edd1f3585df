"""Formats of -f."""

import pytest

from ottla.cli.record_format import BadFormat, record_format, shown_safely
from ottla.client.consumer_record import ConsumerRecord

RECORD = ConsumerRecord("t", 1, 42, 1_769_860_800_000, 0, b"k", b"v\xff", (("h", b"x"),), 0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("%t %p %o %k %v", b"t 1 42 k v\xff\n"),
        ("%d|%T|%s|%h", b"2026-01-31T12:00:00.000Z|1769860800000|2|h=x\n"),
        (r"%k\t%v\n", b"k\tv\xff\n"),
        (r"100%% of \q", b"100% of \\q\n"),
        ("", b"\n"),
    ],
)
def test_directives(text: str, line: bytes) -> None:
    assert record_format(text)(RECORD) == line


def test_null_is_shown_as_such() -> None:
    assert record_format("%k %v")(RECORD._replace(key=None, value=None)) == b"null null\n"


@pytest.mark.parametrize("text", ["%x", "%", "a %"])
def test_what_is_no_directive_is_refused(text: str) -> None:
    with pytest.raises(BadFormat, match="%t topic, %p partition"):
        record_format(text)


def test_a_terminal_is_not_told_what_to_do() -> None:
    assert shown_safely(b"\x1b[2J\tred\r\n") == b"\\x1b[2J\tred\\x0d\n"
