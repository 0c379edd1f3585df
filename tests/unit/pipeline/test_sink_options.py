"""What a writer may be told, and what it says to what it may not."""

import pytest

from ottla.base.errors import ConfigError
from ottla.base.units import MINUTE_MS, SECOND_MS
from ottla.pipeline.sink_options import (
    DEFAULT_BATCH_BYTES,
    SinkOptions,
    exactly_once,
    read_sink_options,
)

BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


def stream(**options: str) -> SinkOptions:
    named = {name.replace("__", "."): text for name, text in options.items()}
    return read_sink_options({**BROKER, **named}, streaming=True)


def batch(**options: str) -> SinkOptions:
    named = {name.replace("__", "."): text for name, text in options.items()}
    return read_sink_options({**BROKER, **named}, streaming=False)


def test_the_defaults() -> None:
    options = stream()
    assert (options.topic, options.delivery, options.sink_id) == (None, None, None)
    assert options.timeout_ms == 15 * MINUTE_MS
    assert options.producer().batch_size == DEFAULT_BATCH_BYTES
    assert options.producer().acks == -1


def test_every_option_is_read_whatever_the_case_of_its_letters() -> None:
    options = stream(TOPIC="t", sinkid="s", DELIVERY="exactly_once", sinkTimeout="10s")
    assert (options.topic, options.sink_id) == ("t", "s")
    assert (options.delivery, options.timeout_ms) == ("exactly_once", 10 * SECOND_MS)
    options = stream(checkpointLocation="/c", includeHeaders="true", queryName="q", path="p")
    assert (options.checkpoint_location, options.include_headers) == ("/c", True)
    options = batch(txnAppId="a", txnVersion="7")
    assert (options.txn_app_id, options.txn_version) == ("a", 7)


def test_the_producer_takes_kafkas_settings() -> None:
    options = stream(kafka__compression__type="zstd", kafka__acks="1", kafka__batch__size="1000")
    settings = options.producer()
    assert (settings.compression_type, settings.acks, settings.batch_size) == ("zstd", 1, 1000)
    assert stream(kafka__linger__ms="5").without_meaning == ("linger.ms",)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topik": "t"}, "topik: there is no such option; did you mean topic?"),
        ({"delivery": "once"}, "delivery=once"),
        ({"sinkTimeout": "1ms"}, "must be from 1s to 1d"),
        ({"sinkTimeout": "2d"}, "must be from 1s to 1d"),
        ({"sinkId": "s" * 250}, "sinkId: must not be longer than 249"),
        ({"txnAppId": "a"}, "goes together with txnVersion"),
        ({"txnVersion": "1"}, "goes together with txnVersion"),
        ({"txnAppId": "a", "txnVersion": "1"}, "a stream has sinkId"),
        ({"kafka.transactional.id": "t"}, "name the sink with sinkId"),
        ({"kafka.key.serializer": "x"}, "cast"),
        ({"kafka.value.serializer": "x"}, "cast"),
        ({"kafka.interceptor.classes": "x"}, "no Java here"),
        ({"kafka.acks": "2"}, "kafka.acks=2"),
        ({"kafka.compresion.type": "lz4"}, "did you mean kafka.compression.type?"),
    ],
)
def test_what_cannot_be_is_named(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_sink_options({**BROKER, **options}, streaming=True)
    assert sentence in str(error.value)


def test_a_batch_write_has_no_sink_id() -> None:
    with pytest.raises(ConfigError, match="txnAppId and txnVersion"):
        batch(sinkId="s")


def test_brokers_must_be_named() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers"):
        read_sink_options({"topic": "t"}, streaming=True)


def test_exactly_once_needs_all_replicas() -> None:
    with pytest.raises(ConfigError, match="delivery=at_least_once"):
        exactly_once(stream(kafka__acks="1").producer())
    assert exactly_once(stream(kafka__acks="all").producer()).enable_idempotence
