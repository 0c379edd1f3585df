"""Pure: what becomes of Kafka's settings that are not in the table: ignored aloud, or refused."""

from collections.abc import Iterator
from typing import Final, NamedTuple


class Ignored(NamedTuple):
    """Settings without meaning here, by name or by how the name begins (a final dot)."""

    why: str
    names: tuple[str, ...]


class Refused(NamedTuple):
    """Settings that promise something which would silently be missing."""

    why: str
    names: tuple[str, ...]
    harmless: tuple[str, ...] = ()


IGNORED: Final = (
    Ignored(
        "One event loop takes the place of Kafka's threads, queues and purgatories.",
        (
            "background.threads", "num.io.threads", "num.network.threads",
            "num.recovery.threads.per.data.dir", "num.replica.alter.log.dirs.threads",
            "log.cleaner.threads", "log.cleaner.io.buffer.size",
            "log.cleaner.io.buffer.load.factor", "queued.max.requests",
            "queued.max.request.bytes", "fetch.purgatory.purge.interval.requests",
            "producer.purgatory.purge.interval.requests",
            "delete.records.purgatory.purge.interval.requests", "server.max.startup.time.ms",
            "max.connection.creation.rate", "log.dir.failure.timeout.ms", "cordoned.log.dirs",
        ),
    ),
    Ignored(
        "There is no controller quorum to set up: ZooKeeper or the embedded metadata store does its work.",
        (
            "process.roles", "controller.", "metadata.", "broker.heartbeat.interval.ms",
            "broker.session.timeout.ms", "initial.broker.registration.timeout.ms",
            "early.start.listeners", "internal.metadata.", "unstable.api.versions.enable",
            "unstable.feature.versions.enable", "zookeeper.", "inter.broker.protocol.version",
            "control.plane.listener.name",
        ),
    ),
    Ignored(
        "One connection to each leader carries all that is replicated, and it is tuned by nothing else.",
        (
            "replica.socket.receive.buffer.bytes", "replication.quota.", "num.replica.fetchers",
            "leader.imbalance.per.broker.percentage", "unclean.leader.election.interval.ms",
            "controlled.shutdown.max.retries", "controlled.shutdown.retry.backoff.ms",
            "request.timeout.ms", "security.inter.broker.protocol",
            "socket.connection.setup.timeout.", "alter.log.dirs.replication.",
        ),
    ),
    Ignored(
        "Share groups and streams groups are not served.",
        ("group.share.", "group.streams.", "share."),
    ),
    Ignored(
        "Coordinators decide, write and answer in one turn of the event loop: nothing lingers, and nothing waits.",
        (
            "group.coordinator.", "group.consumer.regex.refresh.interval.ms",
            "group.consumer.assignor.offload.enable", "offsets.commit.timeout.ms",
            "offsets.load.buffer.size", "offsets.topic.compression.codec",
        ),
    ),
    Ignored(
        "Partitions join a transaction at once, and its log is read in pieces of a fixed size.",
        ("add.partitions.to.txn.", "transaction.state.log.load.buffer.size"),
    ),
    Ignored(
        "Quotas, tiered storage, client telemetry and Java's metrics do not exist here.",
        (
            "quota.", "client.quota.callback.class", "remote.", "log.local.retention.", "follower.",
            "telemetry.max.bytes", "metric.reporters", "metrics.", "kafka.metrics.",
            "auto.include.jmx.reporter", "security.providers",
            "connection.failed.authentication.delay.ms", "listener.name.", "password.encoder.",
        ),
    ),
    Ignored(
        "Kafka itself has dropped these.",
        (
            "log.message.format.version", "log.message.timestamp.difference.max.ms",
            "log.message.downconversion.enable", "port", "host.name", "advertised.host.name",
            "advertised.port",
        ),
    ),
)  # fmt: skip

_OPEN: Final = "clients would be let in without it"

REFUSED: Final = (
    Refused(
        f"TLS is not available in this version, and {_OPEN}; remove it to serve plain text",
        ("ssl.",),
    ),
    Refused(
        f"SASL is not available in this version, and {_OPEN}; remove it to serve anybody",
        ("sasl.", "delegation.token.", "principal.builder.class"),
    ),
    Refused(
        "SASL is not available in this version, so nobody would have to authenticate again",
        ("connections.max.reauth.ms",),
        harmless=("0",),
    ),
    Refused(
        "brokers of this version speak PLAINTEXT to each other, and nothing else",
        ("security.inter.broker.protocol",),
        harmless=("PLAINTEXT",),
    ),
    Refused(
        f"authorization is not available in this version, and {_OPEN}; remove it to serve anybody",
        ("authorizer.", "super.users", "allow.everyone.if.no.acl.found"),
    ),
    Refused(
        "a policy written in Java cannot run here and would not be enforced; remove it",
        ("create.topic.policy.class.name", "alter.config.policy.class.name"),
    ),
    Refused(
        "configuration providers are Java and cannot run here; write the values themselves",
        ("config.providers",),
    ),
    Refused(
        "tiered storage does not exist here; turn it off",
        ("remote.log.storage.system.enable",),
        harmless=("false",),
    ),
    Refused(
        "two-phase commit is not available; turn it off",
        ("transaction.two.phase.commit.enable",),
        harmless=("false",),
    ),
    Refused(
        "TLS to ZooKeeper is not available in this version, and it would be spoken to in plain text",
        ("zookeeper.ssl.", "zookeeper.clientCnxnSocket"),
        harmless=("false",),
    ),
)

REFUSED_FOR_TOPICS: Final = (
    Refused(
        "tiered storage does not exist here",
        ("remote.storage.enable", "remote.log.", "local.retention."),
    ),
)

REFUSED_FOR_GROUPS: Final = (
    Refused("share groups and streams groups are not served", ("share.", "streams.")),
)


def is_ignored(name: str) -> bool:
    """Tells whether Kafka has the setting, and it means nothing here."""
    return any(_matches(name, group.names) for group in IGNORED)


def why_refused(name: str, text: str) -> str | None:
    """Says why a broker with this setting must not start; None if it may."""
    whys = (_why(bare, text, REFUSED) for bare in _without_listener(name))
    return next((why for why in whys if why is not None), None)


def why_refused_for_topics(name: str) -> str | None:
    """Says why a topic setting that Kafka has cannot be set here; None if Kafka has none such."""
    return _why(name, "any", REFUSED_FOR_TOPICS)


def why_refused_for_groups(name: str) -> str | None:
    """Says why a group setting that Kafka has cannot be set here; None if Kafka has none such."""
    return _why(name, "any", REFUSED_FOR_GROUPS)


def _without_listener(name: str) -> Iterator[str]:
    """The setting that a listener gives itself: listener.name.NAME[.MECHANISM].setting."""
    yield name
    if name.startswith("listener.name."):
        yield from (name.split(".", dots)[dots] for dots in (3, 4) if name.count(".") >= dots)


def _why(name: str, text: str, rows: tuple[Refused, ...]) -> str | None:
    for row in rows:
        if _matches(name, row.names) and text.strip() not in ("", *row.harmless):
            return row.why
    return None


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == p or (p.endswith(".") and name.startswith(p)) for p in patterns)
