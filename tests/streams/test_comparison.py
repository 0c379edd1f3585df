"""ottla's test driver and Kafka Streams' own do the same: random topologies, fed the same records, in one JVM."""

import pytest

from tests.streams.cases import case
from tests.streams.comparison import differences, theirs
from tests.support.requirements import requires

SEEDS = 200


@pytest.mark.cpu
@pytest.mark.java
def test_topologies_do_what_they_do_in_kafka_streams() -> None:
    requires("java", "maven")
    cases = [case(seed) for seed in range(SEEDS)]
    operators = {step["op"] for each in cases for step in each.steps}
    assert len(operators) >= 31, f"only {sorted(operators)} were compared"
    found = {}
    for seed, each, kafka in zip(range(SEEDS), cases, theirs(cases), strict=True):
        different = differences(each, kafka)
        if different:
            found[seed] = (each, different)
    assert not found
