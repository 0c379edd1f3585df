"""Rows of an Arrow record batch, encoded whole into Kafka's record batches."""

from __future__ import annotations

_SEQUENCE_MASK = 0x7FFF_FFFF
