"""ApiVersions: what a client learns before it says anything else."""

import struct

import pytest

from ottla.broker.apis import ADVERTISED, APIS, APIS_BY_KEY
from ottla.broker.handlers.api_versions import unsupported_version
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest
from ottla.protocol.codec import decode_response
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client

POLITE = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")


@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_the_whole_table(
    client: Client, version: int, ottla_only: None
) -> None:
    answer = client.ask(POLITE, version)
    assert answer.error_code == ErrorCode.NONE
    told = [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys]
    assert told == [(api.key, api.advertised_min_version, api.max_version) for api in ADVERTISED]


def test_produce_is_advertised_from_zero_for_old_librdkafka(client: Client) -> None:
    told = {row.api_key: (row.min_version, row.max_version) for row in client.ask(POLITE).api_keys}
    assert told[ApiKey.PRODUCE] == (0, 13)
    assert APIS_BY_KEY[ApiKey.PRODUCE].min_version == 3


def test_what_is_advertised_for_old_clients_alone_is_not_served(client: Client) -> None:
    frame = struct.pack(">hhih", ApiKey.PRODUCE, 2, 7, -1) + struct.pack(">hii", 1, 1000, 0)
    client.send(struct.pack(">i", len(frame)) + frame)
    with pytest.raises(EOFError):
        client.receive()


def test_nothing_is_advertised_that_the_schemas_do_not_know() -> None:
    for api in APIS:
        assert api.key.first_version <= api.min_version <= api.max_version <= api.key.last_version
    assert [api.key for api in APIS] == sorted(api.key for api in APIS)


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "ä", "x\n", "."])
def test_a_client_must_name_its_software_properly(client: Client, name: str) -> None:
    for request in (
        ApiVersionsRequest(client_software_name=name, client_software_version="1.0"),
        ApiVersionsRequest(client_software_name="test", client_software_version=name),
    ):
        answer = client.ask(request, 3)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.api_keys == []


@pytest.mark.parametrize("name", ["a", "apache-kafka-java", "librdkafka", "2.3.0-rc1", "x..y"])
def test_usual_names_of_software_are_fine(client: Client, name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version=name)
    assert client.ask(request, 3).error_code == ErrorCode.NONE


def test_a_version_from_the_future_is_answered_in_version_0(client: Client) -> None:
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 7, -1) + b"\0\1\1\0"
    client.send(struct.pack(">i", len(frame)) + frame)
    correlation_id, answer = decode_response(ApiKey.API_VERSIONS, 0, client.receive())
    assert correlation_id == 7
    assert answer == unsupported_version(APIS_BY_KEY)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", [3, 4])
def test_transactions_of_version_2_are_a_finalized_feature(client: Client, version: int) -> None:
    answer = client.ask(POLITE, version)
    assert answer.finalized_features_epoch >= 0
    finalized = {
        row.name: (row.min_version_level, row.max_version_level)
        for row in answer.finalized_features
    }
    assert finalized["transaction.version"] == (2, 2)
    supported = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
    # A minimum of 0 is told only from v4 on (KAFKA-17011).
    assert supported.get("transaction.version") == (None if version == 3 else (0, 2))
