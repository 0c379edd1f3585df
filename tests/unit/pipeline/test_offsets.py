"""Offsets in the JSON form that Spark's Kafka connector writes into checkpoints."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import (
    from_json,
    names,
    parse_offsets,
    parse_partitions,
    parse_times,
    to_json,
)

TOPICS = st.text("abc.-_", min_size=1, max_size=5)
OFFSETS = st.dictionaries(
    st.builds(TopicPartition, TOPICS, st.integers(0, 1000)), st.integers(0, 2**63 - 1)
)


@given(OFFSETS)
def test_offsets_come_back_from_a_checkpoint(offsets: dict[TopicPartition, int]) -> None:
    text = json.dumps(to_json(offsets))
    assert from_json(json.loads(text)) == offsets


@given(OFFSETS)
def test_the_same_offsets_have_the_same_text(offsets: dict[TopicPartition, int]) -> None:
    shuffled = dict(reversed(offsets.items()))
    assert json.dumps(to_json(shuffled)) == json.dumps(to_json(offsets))


def test_partitions_stand_in_the_order_of_their_numbers() -> None:
    offsets = {TopicPartition("t", number): 1 for number in (10, 9, 0)}
    assert list(to_json(offsets)["t"]) == ["0", "9", "10"]


def test_a_checkpoint_of_the_jvm_connector_is_understood() -> None:
    written = '{"orders":{"2":7,"1":5,"0":12}}'
    orders = [TopicPartition("orders", number) for number in range(3)]
    assert from_json(json.loads(written)) == dict(zip(orders, (12, 5, 7), strict=True))


@pytest.mark.parametrize("value", [{"index": 3}, {"t": {"zero": 1}}, {"t": {"0": "1"}}, [], 3])
def test_a_checkpoint_of_another_query_is_named_as_such(value: object) -> None:
    with pytest.raises(ValueError, match=r"another query.*checkpointLocation"):
        from_json(value)


def test_an_option_may_name_the_ends_of_partitions() -> None:
    found = parse_offsets('{"t": {"0": -2, "1": -1}}')
    assert found == {TopicPartition("t", 0): -2, TopicPartition("t", 1): -1}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"t":[0]}', '{"t":{"0":-3}}', '{"t":{"0":true}}'])
def test_other_offsets_are_refused_with_the_form_they_should_have(text: str) -> None:
    with pytest.raises(ValueError, match="must be JSON of the form"):
        parse_offsets(text)


def test_times_are_never_negative() -> None:
    assert parse_times('{"t":{"0":1}}') == {TopicPartition("t", 0): 1}
    with pytest.raises(ValueError, match="must be JSON"):
        parse_times('{"t":{"0":-1}}')


def test_partitions_are_assigned_by_number() -> None:
    assert parse_partitions('{"b":[1],"a":[2,0]}') == (("a", 0), ("a", 2), ("b", 1))
    for wrong in ('{"a":[-1]}', '{"a":0}', "{}", '{"a":["x"]}'):
        with pytest.raises(ValueError):
            parse_partitions(wrong)


def test_a_sentence_mentions_a_few_partitions_only() -> None:
    partitions = [TopicPartition("t", number) for number in range(7)]
    assert names(partitions) == "t-0, t-1, t-2, t-3, t-4 and 2 more"
