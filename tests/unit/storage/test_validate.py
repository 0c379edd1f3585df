"""What a log takes from a producer: the answers are those of a Kafka 4.3 broker to the same bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from ottla.base.errors import ApiError
from ottla.config.log import LogConfig
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import BatchHeader, crc_of, pack_batch, parse_header
from ottla.protocol.records.builder import build_batch, encode_records
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.record import Record, read_records
from ottla.storage.validate import (
    MAX_RECORD_ERRORS,
    InvalidRecords,
    ValidatedBatch,
    must_decompress,
    produced_header,
    validate_at_once,
    validate_produced,
)
from tests.unit.protocol.records.samples import NOW_MS, RECORDS, changed, numbered, poked

PLAIN = LogConfig()
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
LOG_APPEND_TIME = LogConfig(message_timestamp_type="LogAppendTime")
KEYED = [Record(n, NOW_MS + n, b"key %d" % n, b"value %d" % n) for n in range(3)]
BATCH = build_batch(KEYED)
SECTION = bytes(BATCH[61:])


def validated(
    batch: bytes | bytearray, config: LogConfig = PLAIN, *, deep: bool = False
) -> ValidatedBatch:
    return validate_produced(memoryview(batch), config, NOW_MS, deep=deep)


def refusal(
    batch: bytes | bytearray, config: LogConfig = PLAIN, *, deep: bool = False
) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        validated(batch, config, deep=deep)
    assert caught.value.message
    return ErrorCode(caught.value.code)


def record_errors(batch: bytes | bytearray, config: LogConfig, code: ErrorCode) -> list[int]:
    with pytest.raises(InvalidRecords) as caught:
        validated(batch, config)
    assert caught.value.code == code
    return [index for index, _ in caught.value.record_errors]


def around(section: bytes, codec: int = Codec.NONE, count: int = 3) -> bytearray:
    """A batch with a flawless header around whatever records."""
    header = parse_header(BATCH)
    return pack_batch(
        header._replace(attributes=codec, count=count, last_offset_delta=count - 1), section
    )


def test_a_good_batch_is_taken_as_a_view_of_what_came():
    batch = bytearray(BATCH)
    taken = validated(batch)
    assert taken.batch.obj is batch
    assert taken.header == parse_header(BATCH)
    assert taken.log_append_time_ms == -1
    assert batch == BATCH


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("deep", [True, False])
def test_every_codec_passes_unchanged(codec, deep):
    batch = build_batch(KEYED, codec=codec, producer_id=5, producer_epoch=0, base_sequence=0)
    assert validated(batch, deep=deep).batch == batch


def test_bytes_behind_the_batch_are_dropped_unless_they_are_another():
    for tail in (b"12345", bytes(BATCH[:-1])):
        assert validated(BATCH + tail).batch == BATCH
    assert refusal(BATCH + BATCH) == ErrorCode.INVALID_RECORD
    assert refusal(BATCH + bytes(100)) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("batch", [b"", b"12345", BATCH[:-1], BATCH[:16], BATCH[:17]])
def test_a_produce_without_a_whole_batch_is_invalid(batch):
    assert refusal(batch) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("length", [0, -1, 13, 14, 48, 49])
def test_a_batch_too_short_for_its_header_or_crc_is_corrupt(length):
    assert refusal(poked(BATCH, 8, ">i", length)) == ErrorCode.CORRUPT_MESSAGE
    if length > 0:
        assert refusal(poked(BATCH, 8, ">i", length)[: length + 12]) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("pos", [17, 21, 35, 61, len(BATCH) - 1])
def test_a_flipped_bit_is_corrupt(pos):
    assert refusal(poked(BATCH, pos, ">B", BATCH[pos] ^ 0x10)) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("magic", "code"),
    [
        (0, ErrorCode.INVALID_RECORD),
        (1, ErrorCode.INVALID_RECORD),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (-1, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_other_record_formats_are_refused(magic, code):
    assert refusal(changed(BATCH, magic=magic)) == code


@pytest.mark.parametrize(
    "lie",
    [
        {"base_offset": 5},
        {"base_offset": -1},
        {"count": 2},
        {"count": 4},
        {"count": 0},
        {"count": -1},
        {"last_offset_delta": -1},
        {"count": 0, "last_offset_delta": -1},
        {"count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
        {"attributes": 0x20},
        {"attributes": 0x30},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": -1},
    ],
)
def test_a_header_that_no_producer_may_send_is_invalid(lie):
    assert refusal(changed(BATCH, **lie)) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "oddity",
    [{"leader_epoch": 77}, {"producer_id": -5}, {"base_sequence": 3}, {"attributes": 0x80}],
)
def test_oddities_that_kafka_takes_are_taken(oddity):
    assert validated(changed(BATCH, **oddity)).header.count == 3


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_unsupported(codec):
    assert refusal(changed(BATCH, attributes=codec)) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_batch_may_be_just_as_large_as_the_topic_says():
    assert validated(BATCH, LogConfig(max_message_bytes=len(BATCH)))
    one_less = LogConfig(max_message_bytes=len(BATCH) - 1)
    assert refusal(BATCH, one_less) == ErrorCode.MESSAGE_TOO_LARGE
    assert refusal(poked(BATCH, 17, ">I", 0), one_less) == ErrorCode.MESSAGE_TOO_LARGE
    small_segments = LogConfig(segment_bytes=len(BATCH) - 1)
    assert refusal(BATCH, small_segments) == ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("writable", [True, False])
def test_the_append_time_replaces_timestamps_under_a_good_crc(writable):
    batch = bytearray(BATCH) if writable else bytes(BATCH)
    taken = validated(batch, LOG_APPEND_TIME)
    assert taken.log_append_time_ms == taken.header.max_timestamp == NOW_MS
    assert taken.header.is_log_append_time
    assert taken.header == parse_header(taken.batch)
    assert DefaultRecordBatch(taken.batch).validate_crc()
    assert (taken.batch.obj is batch) is writable


def test_the_timestamp_type_is_the_topics_choice():
    claimed = build_batch(KEYED, log_append_time_ms=NOW_MS)
    assert refusal(claimed, LOG_APPEND_TIME) == ErrorCode.INVALID_TIMESTAMP
    taken = validated(claimed)
    assert not taken.header.is_log_append_time
    assert taken.header.crc == crc_of(taken.batch, 0, len(taken.batch))


BEFORE = LogConfig(message_timestamp_before_max_ms=1000)
AFTER = LogConfig(message_timestamp_after_max_ms=1000)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize(
    ("config", "timestamps", "refused"),
    [
        (BEFORE, [NOW_MS - 1001, NOW_MS], [0]),
        (BEFORE, [NOW_MS - 1001, NOW_MS - 5000], [0, 1]),
        (AFTER, [NOW_MS, NOW_MS + 1001, NOW_MS], [1]),
        (AFTER, [2**63 - 1], [0]),
    ],
)
def test_timestamps_outside_of_the_limits_are_named(codec, config, timestamps, refused):
    batch = build_batch([Record(timestamp=t, value=b"v") for t in timestamps], codec=codec)
    assert record_errors(batch, config, ErrorCode.INVALID_TIMESTAMP) == refused


@pytest.mark.parametrize("config", [BEFORE, AFTER, LOG_APPEND_TIME])
def test_timestamps_within_the_limits_or_absent_pass(config):
    for timestamp in (-1, NOW_MS - 1000, NOW_MS + 1000):
        if config is BEFORE or timestamp != NOW_MS - 1000:
            assert validated(build_batch([Record(timestamp=timestamp)]), config)


@pytest.mark.parametrize("lie", [NOW_MS + 10**9, 5, -1])
def test_a_greatest_timestamp_that_lies_is_put_right(lie):
    taken = validated(changed(BATCH, max_timestamp=lie))
    assert taken.header.max_timestamp == NOW_MS + 2
    assert taken.header.crc == crc_of(taken.batch, 0, len(taken.batch))
    assert read_records(taken.batch) == KEYED


def test_a_timestamp_beyond_64_bits_is_refused():
    forever = LogConfig(message_timestamp_after_max_ms=2**63 - 1)
    batch = changed(BATCH, base_timestamp=2**63 - 1, max_timestamp=2**63 - 1)
    assert refusal(batch, forever, deep=True) == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", Codec)
def test_a_compacted_topic_names_the_records_without_key(codec):
    records = [KEYED[0], Record(timestamp=NOW_MS, value=b"x"), KEYED[1], Record(timestamp=NOW_MS)]
    batch = build_batch(records, codec=codec)
    assert record_errors(batch, COMPACTED, ErrorCode.INVALID_RECORD) == [1, 3]
    assert validated(batch).header.count == 4


def test_a_compacted_topic_takes_empty_keys_and_null_values():
    batch = build_batch([Record(timestamp=NOW_MS, key=b"", value=None)])
    assert validated(batch, COMPACTED).batch == batch


def test_no_answer_names_more_records_than_is_useful():
    batch = build_batch([Record(timestamp=NOW_MS)] * (MAX_RECORD_ERRORS + 50))
    refused = record_errors(batch, COMPACTED, ErrorCode.INVALID_RECORD)
    assert refused == list(range(MAX_RECORD_ERRORS))


LYING_BATCHES = {
    "one record more than said": around(SECTION, count=2),
    "one record more than said, compressed": around(compress(1, SECTION), Codec.GZIP, count=2),
    "one record less than said, compressed": around(compress(1, SECTION), Codec.GZIP, count=4),
    "no records": around(b"\xff" * 30),
    "no records, compressed": around(compress(3, b"\xff" * 30), Codec.LZ4),
    "no gzip": around(b"no compressed stream", Codec.GZIP),
    "no snappy": around(b"no compressed stream", Codec.SNAPPY),
    "no lz4": around(b"no compressed stream", Codec.LZ4),
    "no zstd": around(b"no compressed stream", Codec.ZSTD),
    "torn zstd": around(compress(4, SECTION)[:-3], Codec.ZSTD),
    "offsets out of order": around(SECTION[:3] + b"\x0a" + SECTION[4:]),
    "bomb": around(compress(4, bytes(70 * 2**20)), Codec.ZSTD, count=1),
}


@pytest.mark.parametrize("config", [PLAIN, COMPACTED], ids=["deep", "compacted"])
@pytest.mark.parametrize("batch", LYING_BATCHES.values(), ids=LYING_BATCHES)
def test_records_that_are_not_what_the_header_says_are_invalid(batch, config):
    assert refusal(batch, config, deep=config is PLAIN) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("source", Codec)
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_the_codec_of_the_topic_replaces_the_producers(source, target):
    batch = build_batch(
        KEYED, codec=source, producer_id=5, producer_epoch=2, base_sequence=7, transactional=True
    )
    taken = validated(batch, LogConfig(compression_type=target))
    names = dict(zip(Codec, ["uncompressed", "gzip", "snappy", "lz4", "zstd"], strict=True))
    assert names[Codec(taken.header.codec)] == target
    assert same_but_for_codec(taken.header) == same_but_for_codec(parse_header(batch))
    assert taken.header.crc == crc_of(taken.batch, 0, len(taken.batch))
    assert read_records(taken.batch) == KEYED
    assert (taken.batch == batch) is (names[source] == target)


def same_but_for_codec(header: BatchHeader) -> BatchHeader:
    return header._replace(length=0, crc=0, attributes=header.attributes & ~7)


def test_levels_of_the_topic_are_honoured_and_append_time_too():
    text = b"".join(b"user %d, item %d; " % (n % 97, n % 1013) for n in range(3000))
    batch = build_batch([Record(timestamp=NOW_MS, value=text)])
    fast, small = (
        validated(
            batch,
            LogConfig(
                compression_type="zstd",
                compression_zstd_level=level,
                message_timestamp_type="LogAppendTime",
            ),
        )
        for level in (-5, 19)
    )
    assert small.header.size_bytes < fast.header.size_bytes
    assert small.log_append_time_ms == small.header.max_timestamp == NOW_MS
    assert DefaultRecordBatch(small.batch).validate_crc()


def test_a_batch_that_grows_too_large_by_another_codec_is_refused():
    batch = build_batch([Record(timestamp=NOW_MS, value=bytes(2000))], codec=Codec.GZIP)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=1000)
    assert refusal(batch, config) == ErrorCode.MESSAGE_TOO_LARGE


def test_broken_compression_is_noticed_where_it_must_be_undone():
    assert refusal(LYING_BATCHES["no gzip"], LogConfig(compression_type="uncompressed"))
    assert validated(LYING_BATCHES["no gzip"]), "nobody looked"


def test_the_caller_can_tell_beforehand_whether_records_are_looked_at():
    header = produced_header(memoryview(BATCH))
    assert not must_decompress(header, PLAIN)
    assert must_decompress(header, PLAIN, deep=True)
    assert must_decompress(header, COMPACTED)
    assert must_decompress(header, LogConfig(compression_type="zstd"))
    assert not must_decompress(header, LogConfig(compression_type="uncompressed"))


def test_implausible_timestamps_are_a_reason_to_look_at_the_records():
    header = produced_header(memoryview(BATCH))
    two_hours_earlier = NOW_MS - 2 * 3_600_000
    assert not must_decompress(header, PLAIN, now_ms=NOW_MS)
    assert must_decompress(header, PLAIN, now_ms=two_hours_earlier)
    assert not must_decompress(header, LOG_APPEND_TIME, now_ms=two_hours_earlier)


@given(RECORDS, st.sampled_from(Codec), st.sampled_from(["producer", "lz4", "uncompressed"]))
def test_good_batches_always_pass(records, codec, compression_type):
    config = LogConfig(compression_type=compression_type, message_timestamp_after_max_ms=2**63 - 1)
    taken = validated(build_batch(records, codec=codec), config, deep=True)
    assert read_records(taken.batch) == numbered(records)


@given(st.data(), st.sampled_from(Codec), st.sampled_from([PLAIN, COMPACTED, LOG_APPEND_TIME]))
def test_damage_is_answered_with_an_error_code_or_taken_whole(data, codec, config):
    batch = build_batch(KEYED, codec=codec)
    for pos in data.draw(st.lists(st.integers(0, len(batch) - 1), max_size=6)):
        batch[pos] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))
    try:
        taken = validated(batch, config, deep=data.draw(st.booleans()))
    except ApiError:
        return
    assert taken.header == parse_header(taken.batch)
    assert taken.header.size_bytes == len(taken.batch)
    assert taken.header.crc == crc_of(taken.batch, 0, len(taken.batch))


def test_the_samples_are_sound():
    assert around(SECTION) == BATCH
    assert bytes(encode_records(KEYED, NOW_MS)) == SECTION


FIELDS = {
    "base_offset": st.sampled_from([0, 0, 0, 1]),
    "magic": st.sampled_from([2, 2, 2, 1]),
    "attributes": st.integers(-0x80, 0x7F),
    "count": st.sampled_from([3, 3, 3, 0, 4, 1000]),
    "base_timestamp": st.sampled_from([NOW_MS, NOW_MS + 3, -1, NOW_MS + 10**9, 0]),
    "max_timestamp": st.sampled_from([NOW_MS + 2, NOW_MS - 1, -1, NOW_MS + 10**9]),
    "producer_id": st.sampled_from([-1, 5]),
    "base_sequence": st.sampled_from([-1, 0]),
}
CONFIGS = [
    PLAIN,
    COMPACTED,
    LOG_APPEND_TIME,
    LogConfig(compression_type="uncompressed"),
    LogConfig(max_message_bytes=len(BATCH) - 1),
    LogConfig(segment_bytes=len(BATCH) - 1),
    LogConfig(message_timestamp_before_max_ms=1000),
]


@given(st.fixed_dictionaries({}, optional=FIELDS), st.sampled_from(CONFIGS), st.booleans())
def test_a_verdict_given_at_once_is_the_verdict_of_all_rules(fields, config, spoiled):
    batch = bytes(changed(BATCH, **fields))
    batch = batch[:-1] + b"\7" if spoiled else batch
    try:
        expected = validated(batch, config)
    except ApiError as refused:
        expected = ErrorCode(refused.code)
    try:
        found = validate_at_once(memoryview(batch), config, NOW_MS)
    except ApiError as refused:
        found = ErrorCode(refused.code)
    assert found in (expected, None)
