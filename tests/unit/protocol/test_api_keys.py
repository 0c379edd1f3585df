"""The table of API keys, held against kio's schemas."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from ottla.protocol.api_keys import ApiKey


def test_kafka_names() -> None:
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH.api_name == "OffsetForLeaderEpoch"
    assert ApiKey.METADATA == 3


@pytest.mark.parametrize(
    "key", [key for key in ApiKey if not key.is_own], ids=lambda key: key.api_name
)
def test_versions_are_those_of_kafka(key: ApiKey) -> None:
    package = import_module(f"kio.schema.{key.name.lower()}")
    versions = sorted(int(module.name[1:]) for module in pkgutil.iter_modules(package.__path__))
    if key is ApiKey.INIT_PRODUCER_ID:
        versions.remove(6)  # unstable in Kafka 4.3 (KIP-939)
    assert (versions[0], versions[-1]) == (key.first_version, key.last_version)
    for version in versions:
        module = import_module(f"kio.schema.{key.name.lower()}.v{version}.request")
        request = getattr(module, f"{key.api_name}Request")
        assert int(request.__api_key__) == key
        assert request.__flexible__ == (version >= key.flexible_since)
