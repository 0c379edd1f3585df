"""FindCoordinator, in every version."""

import pytest

from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client


@pytest.fixture(autouse=True)
def coordinators(client: Client) -> None:
    """Apache Kafka says at first that it has none."""
    for key_type in (0, 1):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])
        wait_for(lambda: client.ask(request).coordinators[0].error_code == 0, "a coordinator")  # noqa: B023


@pytest.mark.parametrize("version", range(4))
def test_one_key(client: Client, bootstrap: str, version: int) -> None:
    found = client.ask(FindCoordinatorRequest(key="g"), version)
    assert (found.error_code, f"{found.host}:{found.port}") == (0, bootstrap)
    assert found.node_id == 1


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("key_type", [0, 1], ids=["group", "transaction"])
def test_several_keys(client: Client, bootstrap: str, version: int, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b", ""])
    found = client.ask(request, version).coordinators
    assert [each.key for each in found] == ["a", "b", ""]
    assert {(each.error_code, f"{each.host}:{each.port}") for each in found} == {(0, bootstrap)}


def test_the_topic_is_there_with_the_answer(client: Client) -> None:
    client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
    [topic] = client.ask(asked).topics
    assert (len(topic.partitions), topic.is_internal) == (50, True)


@pytest.mark.parametrize("key_type", [2, 99])
def test_there_is_no_other_coordinator(client: Client, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g:t:0"])
    [found] = client.ask(request).coordinators
    assert (found.error_code, found.node_id, found.port) == (ErrorCode.INVALID_REQUEST, -1, -1)
