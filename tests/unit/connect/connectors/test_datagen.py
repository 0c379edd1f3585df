"""Made-up records: the same for the same seed and number, and as many as were asked for."""

import pytest

from ottla.connect.connectors.datagen import Datagen
from ottla.connect.errors import ConfigInvalid

PARTITION = {"quickstart": "orders"}


def datagen(**settings: str) -> Datagen:
    return Datagen({"kafka.topic": "t", **{n.replace("_", "."): v for n, v in settings.items()}})


@pytest.mark.parametrize("kind", ["orders", "clicks", "sensors", "clickstream"])
def test_a_range_has_the_same_records_whenever_it_is_read(kind: str) -> None:
    made = [list(datagen(quickstart=kind).read({}, {"number": 5}, {"number": 9})) for _ in range(2)]
    assert made[0] == made[1]
    assert len(made[0]) == 4
    other = list(datagen(quickstart=kind, random_seed="7").read({}, {"number": 5}, {"number": 9}))
    assert other != made[0]


def test_it_ends_after_its_iterations() -> None:
    found = datagen(iterations="10", max_interval="0")
    end = found.latest(PARTITION, None)
    assert end == {"number": 10}
    assert found.latest(PARTITION, end) is None


def test_without_a_topic_it_is_refused() -> None:
    with pytest.raises(ConfigInvalid, match=r"kafka\.topic"):
        Datagen({})
