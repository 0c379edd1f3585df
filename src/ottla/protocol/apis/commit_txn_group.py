"""Pure: CommitTxnGroup (api 10112, ottla's own): what the named slots have written counts, and nothing else.

One record decides. The same group once more gets the same answer. For the batch that was committed last: no slots and
the same digest, no error (the batch was replayed and skipped); other slots, they are aborted, SINK_ALREADY_COMMITTED;
another digest, SINK_BATCH_DIFFERS. A slot that is unknown or was aborted: SINK_SLOT_LOST, and nothing is committed.
Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class GroupSlot(Struct):
    """An element of CommitTxnGroupRequest.slots."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()


class CommitTxnGroupRequest(Request, key=ApiKey.COMMIT_TXN_GROUP):
    """A batch of a sink, and the slots that count."""

    sink_id: str = string()
    generation: int = int32()
    batch: int = int64()
    digest: str = string()
    slots: list[GroupSlot] = array(GroupSlot)


class CommitTxnGroupResponse(Response, key=ApiKey.COMMIT_TXN_GROUP):
    """Whether it is certain now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
