"""Pure: TransactionsConfig, how transactions and those who write them are kept."""

from dataclasses import dataclass

from ottla.base.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, MiB
from ottla.config.kinds import Bool, Int, Short
from ottla.config.setting import Scope, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsConfig:
    """Transactional ids, time-outs, and the topic that remembers them."""

    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms",
        15 * MINUTE_MS,
        Int(1),
        importance="high",
        doc="Refuses producers that ask for a longer transaction time-out, since readers wait for them.",
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms",
        7 * DAY_MS,
        Int(1),
        importance="high",
        doc="Forgets a transactional id that was not used for this long.",
    )
    transaction_abort_interval_ms: int = setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10 * SECOND_MS,
        Int(1),
        importance="low",
        doc="Looks for transactions to abort because their time-out has passed this often.",
    )
    transaction_remove_expired_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        HOUR_MS,
        Int(1),
        importance="low",
        doc="Looks for transactional ids to forget this often.",
    )
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable",
        True,
        Bool(),
        scope=Scope.CLUSTER_WIDE,
        importance="low",
        doc="Takes transactional records only for partitions that were added to the transaction.",
    )
    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions",
        50,
        Int(1),
        importance="high",
        doc="Gives __transaction_state this many partitions when it is made; they must not change afterwards.",
    )
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor",
        3,
        Short(1),
        importance="high",
        doc="Gives __transaction_state this many replicas, or as many as there are brokers.",
    )
    transaction_state_log_min_isr: int = setting(
        "transaction.state.log.min.isr",
        2,
        Int(1),
        importance="high",
        doc="Asks for this many in-sync replicas of __transaction_state, or as many as it has.",
    )
    transaction_state_log_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes",
        100 * MiB,
        Int(1),
        importance="high",
        doc="Keeps the segments of __transaction_state this small, so that they compact and load fast.",
    )
    max_transactional_ids: int = setting(
        "ottla.max.transactional.ids",
        100_000,
        Int(1),
        doc="Refuses further transactional ids when the broker knows this many.",
    )
    max_open_transactions: int = setting(
        "ottla.max.open.transactions",
        10_000,
        Int(1),
        doc="Lets producers wait before they begin another transaction while this many are open on the broker.",
    )
    max_sinks: int = setting(
        "ottla.max.sinks",
        10_000,
        Int(1),
        doc="Refuses further sinks of transaction groups when the broker knows this many.",
    )
