"""Pure: what can go wrong between a client and its brokers; each str() is a sentence for a person.

What a broker itself answers with an error code is `ottla.base.errors.ApiError`.
"""

from __future__ import annotations

from typing import ClassVar

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.protocol.errors import ErrorCode


class ClientError(OttlaError):
    """A request that got no answer from a broker."""

    retriable: ClassVar[bool] = False


class BrokerUnreachable(ClientError):
    """Nobody listens there (`refused`), or the name is unknown."""

    retriable = True

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class NotKafka(ClientError):
    """The port speaks something else."""


class AuthenticationFailed(ClientError):
    """The broker refused the login, or one of both does not accept the other's certificate."""


class ConnectionLost(ClientError):
    """The connection ended before the answer came; whether the request took effect is unknown."""

    retriable = True


class RequestTimedOut(ClientError):
    """The broker did not answer in time; whether the request took effect is unknown."""

    retriable = True


class UnreadableRecord(ClientError):
    """A record, or a whole batch, that cannot be read: a deserializer failed, or the bytes are damaged.

    Every poll raises it until the program seeks, to `next_offset` to pass over it. `key`, `value` and `headers` are
    the record's bytes where a deserializer failed; `__cause__` is what it raised.
    """

    def __init__(
        self,
        message: str,
        partition: TopicPartition,
        offset: int,
        next_offset: int,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> None:
        super().__init__(message)
        self.partition = partition
        self.offset = offset
        self.next_offset = next_offset
        self.key = key
        self.value = value
        self.headers = headers


class UnsupportedByBroker(ClientError):
    """The broker does not serve this API, or no version of it that this client knows."""


def is_retriable(error: BaseException) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, ApiError):
        return error_code(error.code).retriable
    return isinstance(error, ClientError) and error.retriable


def error_code(code: int) -> ErrorCode:
    """The row of a code; one that a newer broker made up counts as UNKNOWN_SERVER_ERROR."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def api_error(code: int, message: str | None = None) -> ApiError:
    """The exception for what a broker answered; its own sentence, else that of the table."""
    known = error_code(code)
    return ApiError(known if known == code else code, message or known.message)


def check(code: int, message: str | None = None) -> None:
    """Raise ApiError unless `code` is NONE."""
    if code:
        raise api_error(code, message)
