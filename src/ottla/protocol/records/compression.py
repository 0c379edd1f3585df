"""Pure: the five codecs of record batches, with an output that never grows past a limit.

What a stream claims about its own size is at most a first guess: the limit holds for frames that
lie, for chunk lengths that lie (CVE-2023-34455, CVE-2023-43642) and for honest bombs.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias

import cramjam

from ottla.base.errors import ProtocolError

Buffer: TypeAlias = bytes | bytearray | memoryview


class Codec(IntEnum):
    """The codec numbers of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


GZIP_DEFAULT_LEVEL = -1
LZ4_FAST_LEVEL = 9
"""Kafka's default for lz4: not a level of effort, but its name for the fast compressor."""
ZSTD_DEFAULT_LEVEL = 3

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_CHUNK_BYTES = 32 * 1024
_CHUNK_LENGTH = struct.Struct(">i")
_GZIP_SIZE = struct.Struct("<I")

# Snappy's densest element turns three bytes into 64, so a greater claim is a lie.
_SNAPPY_MAX_RATIO = 22
_DEFLATE_MAX_RATIO = 1032
_FIRST_GUESS_RATIO = 4
_GROWTH = 4
_MIN_CAPACITY_BYTES = 4 * 1024
_OUTPUT_FULL = "failed to write whole buffer"


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """The data in the framing that Kafka's Java clients write; the level is Kafka's."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            # The standard library writes gzip 2.5 times faster than cramjam, and reads it slower.
            return zlib.compress(data, GZIP_DEFAULT_LEVEL if level is None else level, wbits=31)
        case Codec.SNAPPY:
            return _compress_xerial(data)
        case Codec.LZ4:
            return _compress_lz4(data, level)
        case Codec.ZSTD:
            asked = ZSTD_DEFAULT_LEVEL if level is None else level
            return bytes(cramjam.zstd.compress(data, level=asked))
    raise ProtocolError(f"codec {codec} is not known")


def decompress(codec: int, data: Buffer, limit_bytes: int) -> bytearray:
    """The original bytes; ProtocolError when broken, or when they would exceed the limit."""
    match codec:
        case Codec.NONE:
            _check_limit(len(data), limit_bytes)
            return bytearray(data)
        case Codec.GZIP:
            return _expand(cramjam.gzip.decompress_into, data, _gzip_guess(data), limit_bytes)
        case Codec.SNAPPY:
            return _decompress_snappy(data, limit_bytes)
        case Codec.LZ4:
            return _expand(cramjam.lz4.decompress_into, data, _guess(data), limit_bytes)
        case Codec.ZSTD:
            return _expand(cramjam.zstd.decompress_into, data, _guess(data), limit_bytes)
    raise ProtocolError(f"codec {codec} is not known")


def _expand(
    decompress_into: Callable[[Buffer, bytearray], int],
    data: Buffer,
    capacity: int,
    limit_bytes: int,
) -> bytearray:
    """Decompress into a buffer of fixed size, and into a larger one while it proves too small."""
    while True:
        capacity = min(capacity, limit_bytes)
        output = bytearray(capacity)
        try:
            size = decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if _OUTPUT_FULL not in str(error):
                raise ProtocolError(f"compressed records are broken: {error}") from None
            if capacity == limit_bytes:
                raise _too_large(limit_bytes) from None
            capacity *= _GROWTH
            # Two generations of the buffer at once would exceed the limit.
            del output
        else:
            del output[size:]
            return output


def _guess(data: Buffer) -> int:
    return max(_MIN_CAPACITY_BYTES, len(data) * _FIRST_GUESS_RATIO)


def _gzip_guess(data: Buffer) -> int:
    """What the trailer of the last member says, unless no deflate stream could hold that."""
    if len(data) < _GZIP_SIZE.size:
        return _MIN_CAPACITY_BYTES
    (claimed,) = _GZIP_SIZE.unpack_from(data, len(data) - _GZIP_SIZE.size)
    return claimed if 0 < claimed <= len(data) * _DEFLATE_MAX_RATIO else _guess(data)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    effort = 0 if level in (None, LZ4_FAST_LEVEL) else level
    # Kafka's own reader refuses linked blocks; the batch's CRC makes a content checksum pointless.
    compressor = cramjam.lz4.Compressor(level=effort, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def _compress_xerial(data: Buffer) -> bytes:
    view = memoryview(data)
    output = bytearray(_XERIAL_HEADER)
    for start in range(0, len(view), _XERIAL_CHUNK_BYTES):
        chunk = cramjam.snappy.compress_raw(view[start : start + _XERIAL_CHUNK_BYTES])
        output += _CHUNK_LENGTH.pack(len(chunk))
        output += memoryview(chunk)
    return bytes(output)


def _decompress_snappy(data: Buffer, limit_bytes: int) -> bytearray:
    """Either framing: xerial (Java) or one bare block (librdkafka, and the Java reader too)."""
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        chunks = [(view, _snappy_size(view))]
    else:
        chunks = _xerial_chunks(view)
    total = sum(size for _, size in chunks)
    _check_limit(total, limit_bytes)
    output = bytearray(total)
    target = memoryview(output)
    for chunk, size in chunks:
        try:
            cramjam.snappy.decompress_raw_into(chunk, target[:size])
        except cramjam.DecompressionError as error:
            raise ProtocolError(f"compressed records are broken: {error}") from None
        target = target[size:]
    return output


def _xerial_chunks(view: memoryview) -> list[tuple[memoryview, int]]:
    """Each chunk with its decompressed size, all lengths checked against what is there."""
    chunks = []
    pos = len(_XERIAL_HEADER)
    while pos < len(view):
        if len(view) - pos < _CHUNK_LENGTH.size:
            raise ProtocolError(f"snappy chunk length torn after {pos} bytes")
        (length,) = _CHUNK_LENGTH.unpack_from(view, pos)
        pos += _CHUNK_LENGTH.size
        if not 0 < length <= len(view) - pos:
            raise ProtocolError(f"snappy chunk of {length} bytes, but {len(view) - pos} are left")
        chunk = view[pos : pos + length]
        chunks.append((chunk, _snappy_size(chunk)))
        pos += length
    return chunks


def _snappy_size(chunk: memoryview) -> int:
    try:
        size: int = cramjam.snappy.decompress_raw_len(chunk)
    except cramjam.DecompressionError as error:
        raise ProtocolError(f"compressed records are broken: {error}") from None
    if size > len(chunk) * _SNAPPY_MAX_RATIO:
        raise ProtocolError(f"snappy block of {len(chunk)} bytes claims to hold {size}")
    return size


def _check_limit(size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise _too_large(limit_bytes)


def _too_large(limit_bytes: int) -> ProtocolError:
    return ProtocolError(f"decompressed records would exceed {limit_bytes} bytes")
