"""Pure: the tree of exceptions; a subclass exists only where some caller catches it by type."""

LONGEST_MESSAGE = 1_000
"""Characters: a sentence may quote what a client sent, and the protocol carries no more than 32767 bytes."""


class OttlaError(Exception):
    """Anything that ottla raises on purpose."""


class ApiError(OttlaError):
    """What a client must be told: a protocol error code and a sentence."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message[:LONGEST_MESSAGE]

    def __str__(self) -> str:
        return self.message or f"error code {int(self.code)}"


class ProtocolError(OttlaError):
    """Bytes that are not what the protocol says they should be."""


class StorageError(OttlaError):
    """A log or its directory cannot do what was asked."""


class CorruptLog(StorageError):
    """Bytes on disk that contradict themselves."""


class DiskFull(StorageError):
    """The file system has no room for what was to be written; it may again later."""


class LogDirOffline(StorageError):
    """A log directory failed and stays out of use until a restart has scanned it."""


class OffsetOutOfRange(StorageError):
    """An offset outside of what the log holds."""


class ClusterError(OttlaError):
    """The metadata tree refused, or could not be reached."""


class ConfigError(OttlaError):
    """A setting with a value it cannot have."""

    def __init__(self, name: str, value: object, why: str) -> None:
        super().__init__(name, value, why)
        self.name = name
        self.value = value
        self.why = why

    def __str__(self) -> str:
        shown = self.name if self.value is None else f"{self.name}={self.value}"
        return f"{shown}: {self.why}"
