"""Pure: listeners as Kafka writes them, `NAME://host:port`, and the protocol of each."""

import re
from typing import Final, NamedTuple

from ottla.config.kinds import Kind

_LISTENER: Final = re.compile(r"([A-Za-z0-9_.-]+)://(\[[0-9A-Fa-f:.%]+\]|[^\[\]/:]*):([0-9]{1,5})")
_HOST_PORT: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]/:]*):([0-9]{1,5})")
_PORTS: Final = 65536


class Listener(NamedTuple):
    """Where clients connect; an empty host stands for every interface, port 0 for any free one."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{_bracketed(self.host)}:{self.port}"


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{_bracketed(self.host)}:{self.port}"


class Listeners(Kind[tuple[Listener, ...]]):
    """One listener or several, with commas between."""

    __slots__ = ()
    code, word = 7, "list"

    def parse(self, text: str) -> tuple[Listener, ...]:
        return tuple(self._one(part.strip()) for part in text.split(","))

    def text(self, value: tuple[Listener, ...]) -> str:
        return ",".join(map(str, value))

    def allowed(self) -> str:
        return "listeners such as PLAINTEXT://host:9092, with commas between"

    def _one(self, text: str) -> Listener:
        found = _LISTENER.fullmatch(text)
        if found is None or int(found[3]) >= _PORTS:
            raise ValueError(f"must be {self.allowed()}")
        return Listener(found[1].upper(), found[2].strip("[]"), int(found[3]))


BESIDE_THE_BROKER: Final = Address("127.0.0.1", -1)
"""On this machine alone, on a port that goes with the broker's."""


class OptionalAddress(Kind[Address | None]):
    """host:port, or nothing."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> Address | None:
        if not text.strip():
            return None
        found = _HOST_PORT.fullmatch(text.strip())
        if found is None or int(found[2]) >= _PORTS:
            raise ValueError(f"must be {self.allowed()}")
        return Address(found[1].strip("[]"), int(found[2]))

    def text(self, value: Address | None) -> str:
        return "" if value is None else str(value)

    def allowed(self) -> str:
        return "host:port, or empty for none"


class AddressBesideBroker(OptionalAddress):
    """host:port, the word auto, or nothing."""

    __slots__ = ()

    def parse(self, text: str) -> Address | None:
        return BESIDE_THE_BROKER if text.strip().lower() == "auto" else super().parse(text)

    def text(self, value: Address | None) -> str:
        return "auto" if value == BESIDE_THE_BROKER else super().text(value)

    def allowed(self) -> str:
        return "auto, host:port, or empty for none"


class Pairs(Kind[tuple[tuple[str, str], ...]]):
    """NAME:VALUE pairs, with commas between."""

    __slots__ = ("example",)
    code, word = 2, "string"

    def __init__(self, example: str) -> None:
        self.example = example

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        if not text.strip():
            return ()
        return tuple(self._one(part.strip()) for part in text.split(","))

    def text(self, value: tuple[tuple[str, str], ...]) -> str:
        return ",".join(f"{left}:{right}" for left, right in value)

    def allowed(self) -> str:
        return f"pairs such as {self.example}, with commas between"

    def _one(self, text: str) -> tuple[str, str]:
        left, colon, right = text.rpartition(":")
        if not (left and colon and right):
            raise ValueError(f"must be {self.allowed()}")
        return left.strip(), right.strip()


class Limits(Kind[tuple[tuple[str, int], ...]]):
    """host:number pairs, with commas between."""

    __slots__ = ()
    code, word = 2, "string"
    pairs: Final = Pairs("host:100")

    def parse(self, text: str) -> tuple[tuple[str, int], ...]:
        pairs = self.pairs.parse(text)
        if not all(number.isascii() and number.isdigit() for _, number in pairs):
            raise ValueError(f"must be {self.allowed()}")
        return tuple((host, int(number)) for host, number in pairs)

    def text(self, value: tuple[tuple[str, int], ...]) -> str:
        return ",".join(f"{host}:{number}" for host, number in value)

    def allowed(self) -> str:
        return self.pairs.allowed()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
