"""Transforms are applied in their order, each to the records that its predicate chooses."""

import pytest

from ottla.connect.data.record import Header, Record
from ottla.connect.errors import ConfigInvalid
from ottla.connect.transforms.chain import Chain

RECORD = Record("orders", 0, None, None, None, {"amount": "5", "secret": "x"})


def test_transforms_follow_one_another() -> None:
    chain = Chain(
        {
            "transforms": "mask, cast,route",
            "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
            "transforms.mask.fields": "secret",
            "transforms.cast.type": "Cast$Value",
            "transforms.cast.spec": "amount:int32",
            "transforms.route.type": "RegexRouter",
            "transforms.route.regex": "(.*)s",
            "transforms.route.replacement": "$1",
        }
    )
    found = chain.apply(RECORD)
    assert found is not None
    assert (found.topic, found.value) == ("order", {"amount": 5, "secret": ""})


@pytest.mark.parametrize(("negate", "is_dropped"), [("false", True), ("true", False)])
def test_a_predicate_chooses_the_records(negate: str, is_dropped: bool) -> None:
    chain = Chain(
        {
            "transforms": "drop",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "marked",
            "transforms.drop.negate": negate,
            "predicates": "marked",
            "predicates.marked.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
            "predicates.marked.name": "test",
        }
    )
    marked = RECORD._replace(headers=(Header("test", None, "1"),))
    assert (chain.apply(marked) is None) == is_dropped
    assert (chain.apply(RECORD) is None) != is_dropped


def test_all_that_is_wrong_is_said_by_setting() -> None:
    with pytest.raises(ConfigInvalid) as raised:
        Chain(
            {
                "transforms": "a,b,c",
                "transforms.a.type": "os.system",
                "transforms.b.type": "Cast$Value",
                "transforms.c.type": "Filter",
                "transforms.c.predicate": "missing",
            }
        )
    assert set(raised.value.problems) == {
        "transforms.a.type",
        "transforms.b.spec",
        "transforms.c.predicate",
    }


def test_no_transforms_leave_records_alone() -> None:
    assert Chain({}).apply(RECORD) == RECORD
