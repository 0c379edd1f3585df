"""Pure: what a client is told when a whole request fails."""

from __future__ import annotations

from ottla.base.errors import ApiError, ClusterError, StorageError
from ottla.client.errors import ClientError
from ottla.protocol.errors import ErrorCode


def told(failure: ApiError | ClientError | ClusterError | StorageError) -> tuple[int, str]:
    """The error code and the sentence for what the controller or a disk could not do."""
    if isinstance(failure, ApiError):
        return failure.code, str(failure)
    if isinstance(failure, StorageError):
        return ErrorCode.KAFKA_STORAGE_ERROR, str(failure)
    if isinstance(failure, ClientError):
        return ErrorCode.NOT_CONTROLLER, f"the controller could not be asked: {failure}"
    # Whether the write came through is not known: the client is to look, and may try again.
    return ErrorCode.REQUEST_TIMED_OUT, f"the metadata could not be written: {failure}"
