"""The clients that load a coordinator do their work against a broker."""

import pytest

from benchmarks.clients import commits, group, transactions
from benchmarks.topics import temporary_topic


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_come_together(bootstrap: str, protocol: str) -> None:
    with temporary_topic(bootstrap, 6) as topic:
        result = group.main(
            {
                "bootstrap": bootstrap,
                "topic": topic,
                "partitions": 6,
                "members": 3,
                "protocol": protocol,
                "group": f"{topic}-{protocol}",
            }
        )
    assert 0 < result["seconds"] < group.STABLE_WITHIN_SECONDS


def test_offsets_are_committed(bootstrap: str) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "connections": 2, "seconds": 0.1}
        assert commits.main(spec)["commits"] > 0


def test_transactions_are_committed(bootstrap: str) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "records": 3, "value_size": 10}
        assert transactions.main({**spec, "seconds": 0.1})["transactions"] > 0
