"""Ids print as Kafka prints them, and partitions as their directories are named."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base import ids
from ottla.base.ids import RESERVED_IDS, TopicPartition, id_text, new_topic_id, parse_id


def test_a_partition_prints_as_its_directory():
    assert str(TopicPartition("clicks", 3)) == "clicks-3"


@given(st.uuids())
def test_an_id_survives_its_text(identifier):
    assert len(id_text(identifier)) == 22
    assert parse_id(id_text(identifier)) == identifier


def test_the_reserved_ids_have_kafkas_texts():
    assert sorted(map(id_text, RESERVED_IDS)) == [
        "AAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAQ",
    ]


@pytest.mark.parametrize("text", ["", "short", "A" * 23, "!" * 22, "AAAAAAAAAAAAAAAAAAAAA\n"])
def test_other_texts_are_no_ids(text):
    with pytest.raises(ValueError):
        parse_id(text)


def test_new_ids_are_never_reserved_nor_begin_with_a_dash(monkeypatch):
    dashed = uuid.UUID(bytes=b"\xf8" + bytes(15))
    good = uuid.UUID(int=7)
    offered = iter([*RESERVED_IDS, dashed, good])
    monkeypatch.setattr(ids.uuid, "uuid4", lambda: next(offered))
    assert new_topic_id() == good
