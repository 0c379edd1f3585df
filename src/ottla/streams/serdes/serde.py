"""Pure: what a serde is: how bytes of a topic become a value, and back."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ottla.streams.types import Type


@runtime_checkable
class Serde(Protocol):
    """Turns values into bytes and back; any object with these members may be one of your own.

    Null is never given to a serde: a record without a key or value has none, whatever the serde. Whatever
    `serialize` and `deserialize` raise makes the record one that cannot be written or read (`on_error`).
    A serde is pickled to reach Spark's workers.
    """

    @property
    def name(self) -> str:
        """What messages and `describe()` call it: `string`, `json`, ..."""

    @property
    def type(self) -> Type:
        """The type of its values; `types.ANY` if it is not known."""

    def serialize(self, value: object) -> bytes:
        """Return the bytes of a value; raise if it does not fit."""

    def deserialize(self, data: bytes) -> object:
        """Return the value of the bytes; raise if they are none."""
