"""EndTxn (api 26, v0-v5).

Versions: v2 PRODUCER_FENCED · v3 flexible · v4 TRANSACTION_ABORTABLE · v5 the producer of the next transaction, whose
epoch is new (KIP-890).
Differs from Apache Kafka: where all partitions are here, the transaction is complete when the answer comes, so the next
one never meets CONCURRENT_TRANSACTIONS. Before v5, an end on a connection that is older than the one that began the
transaction is refused once: it may be that of an earlier transaction, held up on a connection that its client has given
up (KAFKA-17754). Whoever is at the other end tries again, and is believed.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_raw
from ottla.broker.reply import Reply
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP, Producer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import answer_again

_KEY: Final = int(ApiKey.END_TXN)
_FIRST_WITH_FENCED: Final = 2
_FIRST_WITH_BUMP: Final = 5


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Commit or abort."""
    version = context.version
    request: EndTxnRequest = decode_request(_KEY, version, frame, pos, len(frame))
    transactional_id = request.transactional_id
    if not transactional_id:
        refused = EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
        return encode_response(refused, version, context.correlation_id)
    client_version = FIRST_WITH_EPOCH_BUMP if version >= _FIRST_WITH_BUMP else 0

    def submit(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.end(
                transactional_id,
                Producer(request.producer_id, request.producer_epoch),
                request.committed,
                client_version,
                token,
                now_ms,
                context.connection.number,
            )

        context.broker.transactions.write(transactional_id, decide)

    return ask_raw(context, submit, lambda answer: _response(context, answer))


def _response(context: RequestContext, answer: Any) -> EndTxnResponse | bytearray:
    if isinstance(answer, ApiError):
        code = answer.code
        if code == ErrorCode.PRODUCER_FENCED and context.version < _FIRST_WITH_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=code)
    if context.version < _FIRST_WITH_BUMP:
        return answer_again(_ended(context.version), context.correlation_id)
    producer_id, epoch = answer
    return EndTxnResponse(producer_id=producer_id, producer_epoch=epoch)


@cache
def _ended(version: int) -> bytes:
    """The frame that says so, where there is no more to say."""
    return bytes(encode_response(EndTxnResponse(), version, 0))
