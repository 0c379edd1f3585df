"""Pure: what the coordinators count about groups, committed offsets and transactions.

Counters are raised when something is decided, never when it is replayed: a restart counts nothing twice. Gauges are
computed from the machines when somebody asks.
"""

from ottla.base.metrics import counter, gauge, histogram

GROUPS = gauge(
    "ottla_groups", "Groups that this broker coordinates, by type and state.", ("type", "state")
)
GROUP_MEMBERS = gauge("ottla_group_members", "Members of these groups.", ("type",))
GROUP_REBALANCES = counter(
    "ottla_group_rebalances_total", "Rebalances begun, in groups of any type."
)
GROUP_MEMBER_CHANGES = counter(
    "ottla_group_member_changes_total",
    "Members that joined, left, expired or were replaced.",
    ("what",),
)
COMMITTED_OFFSETS = gauge("ottla_group_offsets", "Committed offsets that are kept.")
OFFSET_COMMITS = counter(
    "ottla_group_offset_commits_total", "Offsets committed, those in transactions included."
)
OFFSETS_EXPIRED = counter(
    "ottla_group_offsets_expired_total",
    "Offsets forgotten because their time or their topic was gone.",
)
OFFSETS_DELETED = counter(
    "ottla_group_offsets_deleted_total",
    "Offsets that somebody asked to forget, or that went with their topic.",
)
TRANSACTIONS = gauge(
    "ottla_transactions", "Transactional ids that this broker coordinates, by state.", ("state",)
)
TRANSACTIONS_ENDED = counter(
    "ottla_transactions_ended_total", "Transactions whose outcome was decided.", ("outcome",)
)
TRANSACTIONS_TIMED_OUT = counter(
    "ottla_transactions_timed_out_total",
    "Transactions aborted because they were open for too long.",
)
PRODUCERS_FENCED = counter(
    "ottla_transactional_producers_fenced_total",
    "Open transactions aborted because another producer took over the transactional id.",
)
TRANSACTION_REFUSALS = counter(
    "ottla_transaction_refusals_total",
    "Requests about transactions that were refused, by error.",
    ("error",),
)
TRANSACTIONAL_IDS_EXPIRED = counter(
    "ottla_transactional_ids_expired_total", "Transactional ids forgotten for not being used."
)
SINKS = gauge("ottla_sinks", "Sinks that this broker coordinates.")
SINK_BATCHES = counter(
    "ottla_sink_batches_committed_total", "Batches that transaction groups have committed to sinks."
)
SINK_GROUPS_TIMED_OUT = counter(
    "ottla_sink_groups_timed_out_total",
    "Transaction groups aborted because none of their slots gave a sign of life for too long.",
)
LOAD_SECONDS = histogram(
    "ottla_coordinator_load_seconds",
    "Time from the start of loading a coordinator's partition to its first answer.",
    ("topic",),
)
LOAD_FAILURES = counter(
    "ottla_coordinator_load_failures_total",
    "Loads of a coordinator's partition that failed and were tried again.",
    ("topic",),
)
RECORDS_PASSED_OVER = counter(
    "ottla_coordinator_records_passed_over_total",
    "Records that a load found damaged or of an unknown kind; the log says which.",
    ("topic",),
)
RELOADS = counter(
    "ottla_coordinator_reloads_total",
    "Times a coordinator's partition was loaded anew because it could not be written.",
    ("topic",),
)

MEMBER_CHANGES = {
    what: GROUP_MEMBER_CHANGES.labels(what=what)
    for what in ("joined", "left", "expired", "replaced")
}
COMMITTED, ABORTED = (
    TRANSACTIONS_ENDED.labels(outcome=outcome) for outcome in ("committed", "aborted")
)
