"""The codecs: compatible with other clients, and bounded whatever the input claims."""

import gzip
import resource
import struct
import zlib
from contextlib import suppress

import cramjam
import kafka.codec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.records.compression import Codec, compress, decompress

TEXT = b"".join(b"user %d bought item %d; " % (n % 613, n) for n in range(10_000))
COMPRESSING = [codec for codec in Codec if codec != Codec.NONE]
LIMIT = 2**20

THEIRS = {
    Codec.GZIP: (kafka.codec.gzip_encode, kafka.codec.gzip_decode),
    Codec.SNAPPY: (kafka.codec.snappy_encode, kafka.codec.snappy_decode),
    Codec.LZ4: (kafka.codec.lz4_encode, kafka.codec.lz4_decode),
    Codec.ZSTD: (kafka.codec.zstd_encode, kafka.codec.zstd_decode),
}


@given(st.sampled_from(Codec), st.binary(max_size=5000), st.sampled_from([bytes, bytearray]))
def test_what_goes_in_comes_out(codec, data, kind):
    compressed = compress(codec, memoryview(kind(data)))
    assert decompress(codec, memoryview(compressed), len(data)) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_kafka_python_and_we_read_each_other(codec):
    encode, decode = THEIRS[codec]
    assert decode(compress(codec, TEXT)) == TEXT
    assert decompress(codec, encode(TEXT), LIMIT) == TEXT


@pytest.mark.parametrize(
    ("codec", "fast", "small"), [(Codec.GZIP, 1, 9), (Codec.LZ4, 9, 12), (Codec.ZSTD, -5, 19)]
)
def test_levels_are_those_of_kafka(codec, fast, small):
    assert len(compress(codec, TEXT, small)) < len(compress(codec, TEXT, fast))
    assert decompress(codec, compress(codec, TEXT, small), LIMIT) == TEXT


def test_the_default_levels_are_those_of_kafka():
    assert compress(Codec.GZIP, TEXT, -1) == compress(Codec.GZIP, TEXT)
    assert compress(Codec.LZ4, TEXT, 9) == compress(Codec.LZ4, TEXT)
    assert compress(Codec.ZSTD, TEXT, 3) == compress(Codec.ZSTD, TEXT)


def test_lz4_blocks_are_independent_because_java_clients_refuse_others():
    frame_descriptor_flags = compress(Codec.LZ4, TEXT)[4]
    assert frame_descriptor_flags & 0x20


def test_snappy_is_written_in_java_framing_and_read_in_both():
    framed = compress(Codec.SNAPPY, TEXT)
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert decompress(Codec.SNAPPY, framed, LIMIT) == TEXT
    bare = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Codec.SNAPPY, bare, LIMIT) == TEXT


def test_gzip_of_several_members_is_one_stream():
    assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two"), 7) == b"one two"


@pytest.mark.parametrize("codec", Codec)
def test_the_limit_is_exact(codec):
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(ProtocolError, match=f"exceed {len(TEXT) - 1} bytes"):
        decompress(codec, compressed, len(TEXT) - 1)


def bomb(codec: Codec) -> bytes:
    """Half a gigabyte of zeros, made without ever holding it."""
    block = bytes(2**20)
    if codec == Codec.GZIP:
        stream = zlib.compressobj(9, wbits=31)
        return b"".join(stream.compress(block) for _ in range(512)) + stream.flush()
    if codec == Codec.SNAPPY:
        chunk = bytes(cramjam.snappy.compress_raw(block))
        framed = struct.pack(">i", len(chunk)) + chunk
        return compress(Codec.SNAPPY, b"") + framed * 512
    stream = cramjam.lz4.Compressor() if codec == Codec.LZ4 else cramjam.zstd.Compressor()
    pieces = []
    for _ in range(512):
        stream.compress(block)
        pieces.append(bytes(stream.flush()))
    return b"".join(pieces) + bytes(stream.finish())


def peak_memory_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_bomb_costs_no_more_than_the_limit(codec):
    data = bomb(codec)
    before = peak_memory_bytes()
    with pytest.raises(ProtocolError, match="would exceed"):
        decompress(codec, data, 4 * LIMIT)
    assert peak_memory_bytes() - before < 32 * LIMIT


@pytest.mark.parametrize("claimed", [2**31 - 1, 0, -1, -(2**31), 12])
def test_snappy_chunk_lengths_that_lie_allocate_nothing(claimed):
    data = compress(Codec.SNAPPY, b"") + struct.pack(">i", claimed) + b"abcdefghij"
    with pytest.raises(ProtocolError, match="snappy chunk"):
        decompress(Codec.SNAPPY, data, 2**40)


def test_snappy_blocks_that_lie_about_their_size_allocate_nothing():
    with pytest.raises(ProtocolError, match="claims to hold 4294967295"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(10), 2**40)


@pytest.mark.parametrize("claimed", [10, 2**20, 2**31, 2**32 - 1])
def test_a_zstd_frame_that_lies_about_its_content_size_is_refused(claimed):
    frame = bytearray(compress(Codec.ZSTD, TEXT))
    assert frame[4] >> 6 == 2, "a content size of four bytes follows the frame header"
    struct.pack_into("<I", frame, 5, claimed)
    before = peak_memory_bytes()
    with pytest.raises(ProtocolError):
        decompress(Codec.ZSTD, frame, LIMIT)
    assert peak_memory_bytes() - before < 32 * LIMIT


@pytest.mark.parametrize("claimed", [0, 10, 2**24, 2**32 - 1])
def test_a_gzip_trailer_that_lies_about_its_size_is_refused(claimed):
    member = bytearray(gzip.compress(TEXT))
    struct.pack_into("<I", member, len(member) - 4, claimed)
    with pytest.raises(ProtocolError):
        decompress(Codec.GZIP, member, LIMIT)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_torn_and_empty_streams_are_refused(codec):
    compressed = compress(codec, TEXT)
    for torn in (compressed[: len(compressed) // 2], compressed[:-1], b""):
        with pytest.raises(ProtocolError):
            decompress(codec, torn, LIMIT)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist_are_refused(codec):
    with pytest.raises(ProtocolError, match=f"codec {codec} is not known"):
        decompress(codec, b"data", LIMIT)
    with pytest.raises(ProtocolError, match=f"codec {codec} is not known"):
        compress(codec, b"data")


@given(st.sampled_from(COMPRESSING), st.binary(max_size=300), st.integers(0, 5000))
def test_any_bytes_are_decompressed_or_refused(codec, data, limit):
    with suppress(ProtocolError):
        assert len(decompress(codec, data, limit)) <= limit
