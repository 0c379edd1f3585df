"""Pure: from facts about a cluster, a topic and a group to findings, each with the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.base.units import MiB
from ottla.client.view import Topic
from ottla.inspection.human_units import counted, short_duration, short_size
from ottla.inspection.partition_health import named, partition_health

PROBLEM: Final = "problem"
WARNING: Final = "warning"
WELL: Final = "ok"

_NEARLY_FULL: Final = 0.05
_FULL: Final = 0.01
_FULL_BYTES: Final = 256 * MiB
_MANY_REBALANCES: Final = 5
_SHORT_RETENTION_MS: Final = 600_000


class Finding(NamedTuple):
    """What was found, how bad it is, and what to type against it."""

    level: str
    what: str
    mend: str = ""


class BrokerFacts(NamedTuple):
    """A broker: where it says it is, and why it cannot be reached there, if it cannot."""

    id: int
    address: str
    unreachable: str | None = None


class DiskFacts(NamedTuple):
    """A log directory; sizes are -1 where they are not told."""

    broker: int
    path: str
    error: str | None
    total_bytes: int = -1
    usable_bytes: int = -1


class ClusterFacts(NamedTuple):
    """A cluster as a whole; `min_in_sync` is told for topics that lack replicas."""

    controller_id: int
    brokers: tuple[BrokerFacts, ...]
    topics: Mapping[str, Topic]
    min_in_sync: Mapping[str, int]
    disks: tuple[DiskFacts, ...] = ()


class TopicFacts(NamedTuple):
    """A topic; offsets by partition: the first, the end, and the end for those who read what is committed.

    `held_by` names the sinks whose open batches make the last two differ.
    """

    topic: Topic
    begins: Mapping[int, int]
    ends: Mapping[int, int]
    stable_ends: Mapping[int, int]
    configs: Mapping[str, str]
    held_by: Mapping[int, str] = MappingProxyType({})


class MemberFacts(NamedTuple):
    """A member of a group."""

    client_id: str
    topics: frozenset[str]
    partitions: int


class GroupFacts(NamedTuple):
    """A group; `rebalances` are those of the last five minutes, None where nobody remembers them."""

    name: str
    state: str
    members: tuple[MemberFacts, ...]
    committed: Mapping[TopicPartition, int]
    begins: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    rebalances: int | None = None


def cluster_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Whether brokers, partitions and disks are well."""
    yield from _brokers(facts)
    yield from _partitions(facts)
    for disk in facts.disks:
        yield from _disk(disk)


def _brokers(facts: ClusterFacts) -> Iterator[Finding]:
    for broker in facts.brokers:
        if broker.unreachable is not None:
            yield Finding(
                PROBLEM,
                f"broker {broker.id} tells clients to find it at {broker.address}, but from here it "
                f"cannot be reached: {broker.unreachable}",
                "set advertised.listeners of that broker to an address that clients can reach",
            )
    if facts.controller_id not in [each.id for each in facts.brokers]:
        yield Finding(
            PROBLEM,
            "the cluster has no controller: topics cannot be made, leaders cannot be elected",
            "ottla brokers list, and look into the log of a broker that should be there",
        )
    else:
        yield Finding(
            WELL,
            f"{counted(len(facts.brokers), 'broker')}; the controller is broker {facts.controller_id}",
        )


def _partitions(facts: ClusterFacts) -> Iterator[Finding]:
    alive = {each.id for each in facts.brokers}
    health = partition_health(facts.topics.values(), alive, facts.min_in_sync)
    for broker, sentence in zip(sorted(health.gone), health.gone_brokers(), strict=True):
        yield Finding(PROBLEM, sentence, f"start broker {broker} again")
    describe = "ottla cluster status"
    for brokers, names in sorted(health.leaderless.items()):
        yield _leaderless(brokers, names)
    if health.refusing:
        yield Finding(
            PROBLEM,
            f"{counted(len(health.refusing), 'partition')} with fewer replicas in sync than min.insync.replicas "
            f"({named(health.refusing)}): producers with acks=all are refused (NOT_ENOUGH_REPLICAS)",
            describe,
        )
    for broker, names in sorted(health.behind.items()):
        yield Finding(
            WARNING,
            f"broker {broker} is there, but not in sync in {counted(len(names), 'partition')} ({named(names)})",
            f"wait until it has caught up, or look into the log of broker {broker}",
        )
    if health.is_well:
        total = sum(len(topic.partitions) for topic in facts.topics.values())
        yield Finding(
            WELL,
            f"{counted(total, 'partition')} in {counted(len(facts.topics), 'topic')}: all replicas are in sync",
        )


def _leaderless(brokers: tuple[int, ...], names: list[str]) -> Finding:
    what = f"nobody leads {named(names)}: neither reads nor writes are served there"
    if not brokers:
        return Finding(
            PROBLEM,
            f"{what}, although all brokers that may hold what is committed are there",
            "look into the log of the controller, and at the log directories of these brokers",
        )
    shown = f"broker {', '.join(map(str, brokers))}"
    return Finding(
        PROBLEM,
        f"{what}. It waits for {shown}, which may hold records that are nowhere else",
        f"start {shown} again; to give up what only they hold, look first at what the others have: "
        "ottla partitions elect --unclean --dry-run",
    )


def _disk(disk: DiskFacts) -> Iterator[Finding]:
    where = f"{disk.path} of broker {disk.broker}"
    if disk.error is not None:
        yield Finding(
            PROBLEM, f"{where} is offline: {disk.error}",
            f"mend the disk and start broker {disk.broker} again",
        )  # fmt: skip
    elif 0 <= disk.usable_bytes < min(disk.total_bytes * _FULL, _FULL_BYTES):
        yield Finding(
            PROBLEM, f"{where} is full ({short_size(disk.usable_bytes)} left): what is written there is refused",
            "ottla topics list --long, and shorten retention.ms of the largest (docs/production.md, A full disk)",
        )  # fmt: skip
    elif disk.total_bytes > 0 and disk.usable_bytes < disk.total_bytes * _NEARLY_FULL:
        yield Finding(
            WARNING, f"{where} has only {short_size(disk.usable_bytes)} left",
            "ottla topics list --long, and delete what is not needed, or shorten retention.ms",
        )  # fmt: skip


def topic_findings(facts: TopicFacts) -> Iterator[Finding]:
    """Why nothing comes out of a topic, or nothing gets in."""
    topic, name = facts.topic, facts.topic.name
    needed = int(facts.configs.get("min.insync.replicas", "1"))
    replicas = min((len(each.replicas) for each in topic.partitions), default=0)
    if needed > replicas:
        yield Finding(
            PROBLEM,
            f"{name} has {replicas} replicas, but min.insync.replicas is {needed}: producers with "
            "acks=all are always refused",
            f"ottla configs set --topic {name} min.insync.replicas={replicas}",
        )
    yield from _contents(facts)
    yield from _held_back(facts)
    yield from _limits(facts)


def _contents(facts: TopicFacts) -> Iterator[Finding]:
    name = facts.topic.name
    count = sum(facts.ends[each] - facts.begins[each] for each in facts.ends)
    if count:
        parts = len(facts.topic.partitions)
        yield Finding(
            WELL, f"{name} holds {counted(count, 'record')} in {counted(parts, 'partition')}"
        )
    elif any(facts.ends.values()):
        kept = int(facts.configs.get("retention.ms", "-1"))
        within = f" (retention.ms keeps {short_duration(kept / 1000)})" if kept >= 0 else ""
        yield Finding(
            WARNING,
            f"{name} held {sum(facts.ends.values())} records, all of which have been deleted{within}",
            f"ottla configs set --topic {name} retention.ms=604800000",
        )
    else:
        yield Finding(
            WARNING, f"{name} is empty: nobody has written to it yet",
            f"echo hello | ottla records produce {name}",
        )  # fmt: skip
    retention = int(facts.configs.get("retention.ms", "-1"))
    if count and 0 <= retention < _SHORT_RETENTION_MS:
        yield Finding(
            WARNING,
            f"{name} deletes records after {short_duration(retention / 1000)}: who reads later misses them",
            f"ottla configs set --topic {name} retention.ms=604800000",
        )


def _held_back(facts: TopicFacts) -> Iterator[Finding]:
    for number, end in facts.ends.items():
        stable = facts.stable_ends.get(number, end)
        if stable < end:
            sink = facts.held_by.get(number)
            who = "an open transaction" if sink is None else f"an open batch of the sink {sink}"
            yield Finding(
                WARNING,
                f"{who} in {facts.topic.name}-{number} hides {end - stable} records from "
                "consumers with isolation.level=read_committed",
                f"ottla transactions find-hanging --topic {facts.topic.name}"
                if sink is None
                else f"ottla sinks describe {sink}",
            )


def _limits(facts: TopicFacts) -> Iterator[Finding]:
    name = facts.topic.name
    if "compact" in facts.configs.get("cleanup.policy", ""):
        yield Finding(
            WARNING, f"{name} is compacted: records without a key are refused (INVALID_RECORD)",
            f"ottla records produce {name} --key-separator :",
        )  # fmt: skip
    largest = int(facts.configs.get("max.message.bytes", "1048588"))
    if largest < 100_000:
        yield Finding(
            WARNING,
            f"{name} takes batches of at most {short_size(largest)}: larger ones are refused "
            "(MESSAGE_TOO_LARGE)",
            f"ottla configs set --topic {name} max.message.bytes=1048588",
        )


def group_findings(facts: GroupFacts, topic: str | None) -> Iterator[Finding]:
    """Why a group gets nothing."""
    name = facts.name
    if not facts.members:
        yield Finding(
            PROBLEM, f"group {name} has no members: nobody reads",
            f"start a consumer with group.id={name}",
        )  # fmt: skip
    elif facts.state in ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"):
        yield Finding(
            WARNING, f"group {name} is rebalancing ({facts.state}): its members may wait for one another",
            f"ottla groups history {name}",
        )  # fmt: skip
    else:
        yield Finding(
            WELL, f"group {name} is {facts.state} with {counted(len(facts.members), 'member')}"
        )
    if facts.rebalances is not None and facts.rebalances >= _MANY_REBALANCES:
        yield Finding(
            WARNING,
            f"group {name} rebalanced {facts.rebalances} times in five minutes: members come and go, or "
            "take longer than max.poll.interval.ms",
            f"ottla groups history {name}",
        )
    yield from _members(facts, topic)
    yield from _offsets(facts, topic)


def _members(facts: GroupFacts, topic: str | None) -> Iterator[Finding]:
    read = sorted({each for member in facts.members for each in member.topics})
    if topic is not None and facts.members and topic not in read:
        yield Finding(
            PROBLEM,
            f"no member of group {facts.name} reads {topic}; they read {', '.join(read) or 'nothing'}",
            f"have the consumer subscribe to {topic}",
        )
    idle = [member.client_id for member in facts.members if not member.partitions]
    if idle and facts.state == "Stable":
        wider = f"ottla topics alter {topic or 'TOPIC'} --partitions {len(facts.members)}"
        yield Finding(
            WARNING,
            f"{len(idle)} of {len(facts.members)} members of group {facts.name} have no partition "
            f"({', '.join(sorted(set(idle)))}): there are more members than partitions",
            wider,
        )


def _offsets(facts: GroupFacts, topic: str | None) -> Iterator[Finding]:
    partitions = [at for at in sorted(facts.ends) if topic is None or at.topic == topic]
    lag = 0
    for at in partitions:
        committed, begin, end = facts.committed.get(at), facts.begins[at], facts.ends[at]
        reset = f"ottla groups reset {facts.name} --topic {at.topic}:{at.partition}"
        if committed is None:
            yield Finding(
                WARNING,
                f"group {facts.name} has committed nothing for {at}: with auto.offset.reset=latest it "
                "gets only what is written from now on",
                f"{reset} --to-earliest --execute",
            )
        elif committed > end:
            yield Finding(
                PROBLEM,
                f"group {facts.name} waits for offset {committed} of {at}, which ends at {end}: the topic "
                "was probably deleted and made again",
                f"{reset} --to-earliest --execute",
            )
        elif committed < begin:
            yield Finding(
                WARNING,
                f"{begin - committed} records of {at} were deleted before group {facts.name} read them",
                f"{reset} --to-earliest --execute",
            )
            lag += end - begin
        else:
            lag += end - committed
    if partitions and not lag and all(at in facts.committed for at in partitions):
        yield Finding(
            WELL,
            f"group {facts.name} has read everything: it gets nothing because nothing new is written",
        )
    elif lag:
        level = WELL if facts.members else WARNING
        yield Finding(level, f"group {facts.name} is {counted(lag, 'record')} behind",
                      f"ottla groups lag {facts.name} --watch")  # fmt: skip
