"""The client that measures how long nobody was acknowledged."""

from benchmarks.clients import finish_client, running_client
from benchmarks.clients.acks import Acks
from benchmarks.scenarios.disturbances import PRODUCER, count_acks, read_line
from benchmarks.topics import temporary_topic
from tests.support.waiting import wait_for


def test_the_longest_gap_may_be_the_last() -> None:
    acks = Acks()
    acks.times = [1.0, 1.5, 3.0, 3.25]
    assert acks.longest_gap_seconds(3.5) == 1.5
    assert acks.longest_gap_seconds(6.25) == 3.0
    assert acks.longest_gap_seconds(2.0) == 0.5


def test_it_goes_on_until_its_input_ends(bootstrap: str) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "value_size": 10, "config": PRODUCER}
        with running_client("acks", spec) as client:
            assert read_line(client) == "ready"
            wait_for(lambda: count_acks(client) > 20, "some acknowledgements")
            result = finish_client(client)
    assert result["acked"] > 20
    assert result["failed"] == 0
    assert result["longest_gap_seconds"] < 10
