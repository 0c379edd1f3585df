"""Pure: what a predicate is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ottla.connect.data.record import Record
from ottla.connect.options.table import Options


class Predicate(ABC):
    """Tells records apart."""

    options: ClassVar[Options]

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        self.settings: dict[str, Any] = self.options.parse(settings)

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Return True for records that the transform is for."""
