"""Pure: what a converter is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ottla.connect.data.schema import Schema
from ottla.connect.options.table import Options


class Converter(ABC):
    """Makes bytes of values and values of bytes."""

    options: ClassVar[Options] = Options(())

    def __init__(self, settings: Mapping[str, str | None], *, is_key: bool = False) -> None:
        self.settings: dict[str, Any] = self.options.parse(settings)
        self.is_key = is_key

    @abstractmethod
    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of a value."""

    @abstractmethod
    def from_bytes(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return schema and value of bytes."""
