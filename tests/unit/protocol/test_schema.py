"""Messages as values: defaults, equality, and how they show themselves."""

from __future__ import annotations

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.consumer_group_describe import Assignment, Member
from ottla.protocol.apis.fetch import FetchRequest, PartitionData
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.schema import ZERO_UUID


def test_a_message_made_of_nothing_has_the_defaults_of_the_schema() -> None:
    request = MetadataRequest()
    assert request.topics == []
    assert request.allow_auto_topic_creation is True
    assert MetadataRequestTopic().topic_id == ZERO_UUID


def test_mutable_defaults_are_not_shared() -> None:
    first, second = MetadataRequest(), MetadataRequest()
    assert first.topics is not None
    first.topics.append(MetadataRequestTopic(name="orders"))
    assert second.topics == []
    assert Member().assignment is not Member().assignment
    assert Member().assignment == Assignment()


def test_a_tagged_structure_is_none_unless_it_was_sent() -> None:
    assert FetchRequest().replica_state is None
    assert PartitionData().diverging_epoch is None


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="no_such_field"):
        MetadataRequest(no_such_field=1)  # type: ignore[call-arg]


def test_a_message_has_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        MetadataRequest().other = 1  # type: ignore[attr-defined]


def test_messages_are_equal_by_value_and_show_their_fields() -> None:
    topic = MetadataRequestTopic(name="orders")
    assert topic == MetadataRequestTopic(name="orders")
    assert topic != MetadataRequestTopic(name="payments")
    assert topic != "orders"
    assert repr(topic) == f"MetadataRequestTopic(topic_id={ZERO_UUID!r}, name='orders')"


def test_a_message_knows_its_api() -> None:
    assert MetadataRequest.api_key is ApiKey.METADATA
