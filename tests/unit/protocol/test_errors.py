"""The table of error codes, held against kio."""

from __future__ import annotations

from kio.schema.errors import ErrorCode as KioErrorCode

from ottla.protocol.api_keys import FIRST_OWN
from ottla.protocol.errors import ErrorCode


def test_numbers_names_and_retriability_are_those_of_kafka() -> None:
    ours = {int(code): (code.name, code.retriable) for code in ErrorCode if code < FIRST_OWN}
    theirs = {int(code): (code.name.upper(), code.retriable) for code in KioErrorCode}
    assert ours == theirs


def test_every_error_has_a_sentence() -> None:
    assert all(code.message.endswith(".") for code in ErrorCode)
    assert len({code.message for code in ErrorCode}) == len(ErrorCode)
