"""Pure: what a client is told when a whole request fails."""

from __future__ import annotations

from ottla.base.errors import ApiError, ClusterError
from ottla.protocol.errors import ErrorCode


def told(failure: ApiError | ClusterError) -> tuple[int, str]:
    """The error code and the sentence for what the controller could not do."""
    if isinstance(failure, ApiError):
        return failure.code, str(failure)
    # Whether the write came through is not known: the client is to look, and may try again.
    return ErrorCode.REQUEST_TIMED_OUT, f"the metadata could not be written: {failure}"
