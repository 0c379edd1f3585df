"""The tables of all APIs, held against kio: same fields, same defaults, same bytes."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct
from tests.support import kio_oracle

MESSAGES_EACH = 6
API_VERSIONS = kio_oracle.api_versions()
IDS = [f"{key.api_name}-v{version}" for key, version in API_VERSIONS]

every_version = pytest.mark.parametrize(("key", "version"), API_VERSIONS, ids=IDS)


def encoded(message: Any, key: ApiKey, version: int) -> bytes:
    out = bytearray()
    encoder(type(message), version, version >= key.flexible_since)(message, out)
    return bytes(out)


def decoded(cls: type[Struct], key: ApiKey, version: int, body: bytes) -> Any:
    return decoder(cls, version, version >= key.flexible_since)(body, 0, len(body))


def test_the_tables_hold_what_a_client_needs() -> None:
    assert len({key for key, _ in API_VERSIONS}) >= 43


@every_version
def test_fields_are_those_of_kio(key: ApiKey, version: int) -> None:
    for ours, theirs in kio_oracle.messages(key, version):
        for kio_class, struct in kio_oracle.nested_pairs(theirs, ours):
            their_names, our_names = kio_oracle.field_names(kio_class, struct, version)
            assert our_names == their_names, f"{struct.__name__} v{version}"
        assert theirs.__flexible__ == (version >= key.flexible_since)


@every_version
def test_defaults_are_those_of_kio(key: ApiKey, version: int) -> None:
    for ours, theirs in kio_oracle.messages(key, version):
        for kio_class, struct in kio_oracle.nested_pairs(theirs, ours):
            default = kio_oracle.to_kio(struct(), kio_class)
            for field in dataclasses.fields(kio_class):
                if field.default is not dataclasses.MISSING:
                    assert getattr(default, field.name) == field.default, field.name


@every_version
def test_random_messages_are_the_same_bytes_in_kio(key: ApiKey, version: int) -> None:
    rng = random.Random(int(key) * 100 + version)
    for ours, theirs in kio_oracle.messages(key, version):
        for _ in range(MESSAGES_EACH):
            message = kio_oracle.arbitrary(ours, version, rng)
            body = encoded(message, key, version)
            assert body == kio_oracle.kio_encode(message, theirs)
            again = decoded(ours, key, version, body)
            expected = kio_oracle.kio_decode(body, theirs)
            assert kio_oracle.to_kio(again, theirs) == expected
