"""How a write enters its producer's transaction: the partition is added to it, or found to be in it already."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.broker.context import Broker
from ottla.broker.internal_topics import TRANSACTIONS_TOPIC
from ottla.client.errors import ClientError
from ottla.cluster.image import NO_LEADER
from ottla.coordination.decision import Decision, Token
from ottla.coordination.routing import partition_for
from ottla.coordination.transactions.between_brokers import add_request, first_refusal
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP, Producer
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import Partition
from ottla.storage.verification import Guard

_NO_COORDINATOR: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Entry:
    """One write that waits to hear from the coordinator: it counts until the transaction is ended in its partition."""

    __slots__ = ("_broker", "_guard", "_producer_id", "_tp")

    def __init__(self, broker: Broker, producer: Producer, tp: TopicPartition) -> None:
        self._broker, self._producer_id, self._tp = broker, producer.producer_id, tp
        partition = broker.partitions.find(*tp)
        self._guard: Guard | None = None
        if partition is not None:
            self._guard = partition.log.producers.guard(producer.producer_id)

    def still_counts(self) -> bool:
        """Return whether no marker of the producer was appended here since the coordinator was asked."""
        partition = self._broker.partitions.find(*self._tp)
        return (
            partition is not None
            and self._guard is not None
            and partition.log.producers.is_guarded(self._producer_id, self._guard)
        )

    def refusal(self) -> ApiError:
        """What is said of a write that does not count any more: the producer may ask again."""
        return ApiError(
            ErrorCode.NOT_COORDINATOR,
            f"a transaction of producer {self._producer_id} ended in {self._tp} while its coordinator was asked",
        )


def add(
    broker: Broker,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    token: Token,
) -> None:
    """Add partitions to the transaction, for clients that leave it to the broker (KIP-890)."""
    if not is_coordinated_here(broker, transactional_id):
        _ask_elsewhere(broker, transactional_id, producer, partitions, token, verify_only=False)
        return

    def decide(shard: TransactionShard, now_ms: int) -> Decision:
        version = FIRST_WITH_EPOCH_BUMP
        return shard.add(transactional_id, producer, partitions, version, token, now_ms)

    try:
        broker.transactions.write(transactional_id, decide)
    except ApiError as refused:
        token(refused)


def verify(
    broker: Broker,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    token: Token,
) -> None:
    """Tell `token` whether all partitions are in the transaction, for clients that add them themselves."""
    if not broker.settings.now.transactions.transaction_partition_verification_enable:
        token(None)
    elif not is_coordinated_here(broker, transactional_id):
        _ask_elsewhere(broker, transactional_id, producer, partitions, token, verify_only=True)
    else:
        try:
            for partition in partitions:
                check(broker, transactional_id, producer, partition)
        except ApiError as refused:
            token(refused)
        else:
            token(None)


def check_room(broker: Broker, transactional_id: str | None) -> None:
    """Every transactional id is remembered for a week: a client that invents one per run must not fill the memory."""
    limit = broker.settings.now.transactions.max_transactional_ids
    shards = broker.transactions.loaded_shards()
    if sum(len(shard.transactions) for shard in shards) < limit:
        return
    if not any(transactional_id in shard.transactions for shard in shards):
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, f"ottla.max.transactional.ids={limit} are known already"
        )


def is_coordinated_here(broker: Broker, transactional_id: str) -> bool:
    """Whether this broker is, or is about to be, the coordinator of a transactional id."""
    return _coordinator_of(broker, transactional_id) in (broker.node_id, NO_LEADER)


def _coordinator_of(broker: Broker, transactional_id: str) -> int:
    topic = broker.metadata.image.topics.get(TRANSACTIONS_TOPIC)
    if topic is None:
        return NO_LEADER
    return topic.partitions[partition_for(transactional_id, len(topic.partitions))].leader


def _ask_elsewhere(
    broker: Broker,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    token: Token,
    *,
    verify_only: bool,
) -> None:
    async def ask() -> None:
        coordinator = _coordinator_of(broker, transactional_id)
        try:
            request = add_request(transactional_id, producer, partitions, verify_only=verify_only)
            answer = await broker.peers.ask(coordinator, request)
            token(first_refusal(answer))
        except ClientError as failure:
            token(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(failure)))
        except ApiError as refused:
            token(refused)

    broker.tasks.spawn(ask())


def check(
    broker: Broker, transactional_id: str, producer: Producer, partition: TopicPartition
) -> None:
    """ApiError unless the partition is in the producer's transaction at this moment."""
    shard = broker.transactions.newest(transactional_id)
    shard.check_within(transactional_id, producer, partition)


def enter_at_once(
    broker: Broker,
    transactional_id: str,
    producer: Producer,
    partition: Partition,
    *,
    adds: bool,
) -> bool:
    """Whether a write may follow now, since the partition is in the transaction; it is added with `adds`.

    False says nothing: whoever asks the long way learns what is wrong, or waits for it.
    """
    if partition.log.producers.in_transaction(*producer):
        return True
    if not is_coordinated_here(broker, transactional_id):
        return False
    answers: list[ApiError | None] = []
    enter = add if adds else verify
    enter(broker, transactional_id, producer, (partition.tp,), answers.append)
    return answers == [None]


def enter(
    broker: Broker,
    transactional_id: str,
    producer: Producer,
    partition: TopicPartition,
    *,
    adds: bool,
    then: Callable[[], None],
    refuse: Callable[[ApiError], None],
) -> None:
    """Do `then` once the partition is in the transaction, else say why it cannot be.

    With `adds` the partition is added; without it, somebody must have added it before. `then` may be called later, and
    nobody is there to catch what it raises.
    """

    if _is_within(broker, producer, partition):
        then()
        return
    entry = Entry(broker, producer, partition)

    def entered(refused: ApiError | None) -> None:
        if refused is None and not entry.still_counts():
            refused = entry.refusal()
        if refused is None:
            then()
        else:
            refuse(refused)

    if adds:
        add(broker, transactional_id, producer, [partition], entered)
    else:
        verify(broker, transactional_id, producer, [partition], entered)


def _is_within(broker: Broker, producer: Producer, partition: TopicPartition) -> bool:
    """Whether the partition holds records of that very transaction already: nobody needs to be asked then."""
    found = broker.partitions.find(*partition)
    return found is not None and found.log.producers.in_transaction(*producer)


def told(refused: ApiError, *, adds: bool, knows_abortable: bool, unavailable: int) -> ApiError:
    """The refusal in words that clients of the request's version act upon as they should.

    `unavailable` stands for whatever makes them try again.
    """
    code = refused.code
    if code == ErrorCode.PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    elif code == ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        code = ErrorCode.INVALID_TXN_STATE
    elif code in _NO_COORDINATOR or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not adds):
        code = unavailable
    return ApiError(code, str(refused))
