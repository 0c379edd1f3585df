"""Records as large as the topic allows, and one byte larger."""

import pytest
from confluent_kafka import KafkaError
from kafka.errors import MessageSizeTooLargeError

from tests.support.clients import consume, create_topic, produce, producer
from tests.support.wire import Wire, batch, produce_request, produced

pytestmark = pytest.mark.compat

LIMIT = 20_000
MESSAGE_TOO_LARGE = 10


@pytest.fixture(scope="module")
def limited(bootstrap: str) -> str:
    """A topic whose batches may have 20,000 bytes."""
    return create_topic(bootstrap, "limited", max_message_bytes=LIMIT)


def batch_of_size(size: int) -> bytes:
    """A batch of one record that has exactly this size."""
    records = batch(b"x" * (size - 80))
    return batch(b"x" * (size - 80 + size - len(records)))


def test_a_batch_of_exactly_the_limit_is_taken(wire: Wire, limited: str) -> None:
    records = batch_of_size(LIMIT)
    assert len(records) == LIMIT
    assert produced(wire.ask(produce_request(limited, records))).error_code == 0


def test_one_byte_more_is_too_large(wire: Wire, limited: str) -> None:
    records = batch_of_size(LIMIT + 1)
    assert len(records) == LIMIT + 1
    answer = produced(wire.ask(produce_request(limited, records)))
    assert (answer.error_code, answer.base_offset) == (MESSAGE_TOO_LARGE, -1)
    assert produced(wire.ask(produce_request(limited, batch(b"small")))).error_code == 0


def test_a_client_is_told_about_the_record_that_is_too_large(bootstrap: str, limited: str) -> None:
    client = producer(bootstrap, message_max_bytes=10_000_000)
    errors: list[KafkaError | None] = []
    for size in (10, LIMIT + 1, 10):
        client.produce(limited, value=b"x" * size, on_delivery=lambda e, _: errors.append(e))
        client.flush(20)
    assert [error and error.code() for error in errors] == [
        None,
        KafkaError.MSG_SIZE_TOO_LARGE,
        None,
    ]


def test_the_limit_counts_compressed_bytes(bootstrap: str, limited: str) -> None:
    value = b"x" * (LIMIT * 10)
    produce(bootstrap, limited, [value], compression_type="lz4", message_max_bytes=10_000_000)
    assert consume(bootstrap, limited)[-1].value() == value


def test_the_default_limit_is_kafkas_megabyte_and_overhead(wire: Wire, topic: str) -> None:
    default = 1_048_588
    assert produced(wire.ask(produce_request(topic, batch_of_size(default)))).error_code == 0
    refused = produced(wire.ask(produce_request(topic, batch_of_size(default + 1))))
    assert refused.error_code == MESSAGE_TOO_LARGE == MessageSizeTooLargeError.errno


def test_records_of_ten_megabytes_pass_where_the_topic_allows_them(bootstrap: str) -> None:
    topic = create_topic(bootstrap, max_message_bytes=20_000_000)
    values = [bytes([n]) * 10_000_000 for n in range(3)]
    produce(bootstrap, topic, values, message_max_bytes=20_000_000)
    assert [message.value() for message in consume(bootstrap, topic)] == values
