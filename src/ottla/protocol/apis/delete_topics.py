"""Pure: DeleteTopics (api 20): delete topics.

Versions: v4 flexible · v5 error message · v6 by topic id (KIP-516).
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteTopicState(Struct):
    """An element of DeleteTopicsRequest.topics."""

    name: str | None = string(None, nullable=True)
    topic_id: UUID = uuid()


class DeleteTopicsRequest(Request, key=ApiKey.DELETE_TOPICS):
    """The topics to delete, by name or by id."""

    topics: list[DeleteTopicState] = array(DeleteTopicState, since=6)
    topic_names: list[str] = array(string, until=5)
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    """An element of DeleteTopicsResponse.responses."""

    name: str | None = string(nullable_since=6)
    topic_id: UUID = uuid(since=6)
    error_code: int = int16()
    error_message: str | None = string(None, since=5, nullable=True)


class DeleteTopicsResponse(Response, key=ApiKey.DELETE_TOPICS):
    """Whether each topic was deleted."""

    throttle_time_ms: int = int32()
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
