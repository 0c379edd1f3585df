"""Pure: what went wrong, as an HTTP status and a code; each API renders it in its own way."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NamedTuple

from ottla.base.errors import ApiError, OttlaError
from ottla.client.errors import (
    AuthenticationFailed,
    BrokerUnreachable,
    ConnectionLost,
    NotKafka,
    RequestTimedOut,
    UnsupportedByBroker,
    error_code,
)
from ottla.protocol.errors import ErrorCode

PROBLEM_JSON: Final = "application/problem+json"
_V2_JSON: Final = "application/vnd.kafka.v2+json"
_JSON: Final = "application/json"
_TITLES: Final = {
    400: "Bad request",
    401: "Login needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Request timed out",
    409: "Conflict",
    411: "Length required",
    413: "Body too large",
    414: "Address too long",
    415: "Unsupported content type",
    422: "Unprocessable",
    429: "Too many requests",
    500: "Failed",
    501: "Not supported by the cluster",
    503: "Not available",
    504: "Timed out",
}


class Dialect(Enum):
    """Whose rules errors follow."""

    V2 = "v2"
    V3 = "v3"
    OWN = "own"
    CONNECT = "connect"


class HttpError(OttlaError):
    """A refusal with a status, the code that REST clients look at, and a sentence."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int | None = None,
        kafka: int | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.code = status if code is None else code
        self.kafka = kafka
        self.headers = headers or {}
        self.more = more

    def __str__(self) -> str:
        return self.message


class Rendered(NamedTuple):
    """The body of an error and its content type."""

    body: dict[str, Any]
    content_type: str


NOT_ALLOWED: Final = frozenset(
    (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    )
)
_NOT_THERE: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    )
)
_CONFLICT: Final = frozenset(
    (
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.REASSIGNMENT_IN_PROGRESS,
    )
)
_FAULT_OF_THE_CLUSTER: Final = frozenset(
    (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LOG_DIR_NOT_FOUND,
        ErrorCode.CORRUPT_MESSAGE,
    )
)
BAD_REQUEST: Final = 40002
NO_LOGIN: Final = 40101
FORBIDDEN: Final = 40301
UNKNOWN: Final = 40403
KAFKA_FAILED: Final = 50002
KAFKA_RETRIABLE: Final = 50003
UNAVAILABLE: Final = 50302


def as_http(error: Exception) -> HttpError:
    """Any failure of a handler; what nobody expected tells nothing of the inside."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, ApiError):
        return of_kafka(error.code, str(error))
    if isinstance(error, AuthenticationFailed):
        return HttpError(401, str(error), code=NO_LOGIN)
    if isinstance(error, UnsupportedByBroker):
        return HttpError(400, str(error), code=BAD_REQUEST)
    if isinstance(error, BrokerUnreachable | ConnectionLost | NotKafka):
        return HttpError(503, str(error), code=UNAVAILABLE, headers={"retry-after": "1"})
    if isinstance(error, RequestTimedOut):
        return HttpError(504, str(error), code=KAFKA_RETRIABLE)
    if isinstance(error, OttlaError):
        return HttpError(400, str(error), code=BAD_REQUEST)
    return HttpError(500, "this request failed; the log of ottla http tells why", code=500)


def of_kafka(code: int, message: str) -> HttpError:
    """What a broker refused with one of Kafka's codes."""
    status, rest_code = _status(error_code(code))
    return HttpError(status, message, code=rest_code, kafka=int(code))


def _status(code: ErrorCode) -> tuple[int, int]:
    if code in NOT_ALLOWED:
        return 403, FORBIDDEN
    if code == ErrorCode.SASL_AUTHENTICATION_FAILED:
        return 401, NO_LOGIN
    if code in _NOT_THERE:
        return 404, UNKNOWN
    if code in _CONFLICT:
        return 409, BAD_REQUEST
    if code == ErrorCode.BROKER_NOT_AVAILABLE:
        return 503, UNAVAILABLE
    if code.retriable:
        return 503, KAFKA_RETRIABLE
    return (500, KAFKA_FAILED) if code in _FAULT_OF_THE_CLUSTER else (400, BAD_REQUEST)


def rendered(error: HttpError, dialect: Dialect) -> Rendered:
    """The body of an error, as the API's clients expect it."""
    if dialect is Dialect.OWN:
        return Rendered(_problem(error), PROBLEM_JSON)
    content_type = _V2_JSON if dialect is Dialect.V2 else _JSON
    return Rendered({"error_code": error.code, "message": error.message}, content_type)


def _problem(error: HttpError) -> dict[str, Any]:
    """RFC 9457; `error_code` is what v3 would have said."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": _TITLES.get(error.status, "Failed"),
        "status": error.status,
        "detail": error.message,
        "error_code": error.code,
    }
    if error.kafka is not None:
        body["kafka_code"] = error.kafka
        body["kafka_error"] = error_code(error.kafka).name
    return body | error.more
