"""What the doctor makes of symptoms: each finding with what to type against it."""

from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.client.view import Partition, Topic
from ottla.inspection.diagnosis import (
    PROBLEM,
    WARNING,
    WELL,
    BrokerFacts,
    ClusterFacts,
    DiskFacts,
    Finding,
    GroupFacts,
    MemberFacts,
    TopicFacts,
    cluster_findings,
    group_findings,
    topic_findings,
)

AT = TopicPartition("orders", 0)


def topic(*partitions: Partition) -> Topic:
    return Topic("orders", UUID(int=5), False, 0, partitions)


def cluster(*partitions: Partition, **facts: object) -> list[Finding]:
    usual = ClusterFacts(
        1, (BrokerFacts(1, "a:1"), BrokerFacts(2, "b:1")), {"orders": topic(*partitions)}, {}
    )
    return list(cluster_findings(usual._replace(**facts)))


def group(topic_name: str | None = "orders", **facts: object) -> list[Finding]:
    member = MemberFacts("app", frozenset({"orders"}), 1)
    usual = GroupFacts("billing", "Stable", (member,), {AT: 5}, {AT: 0}, {AT: 5})
    return list(group_findings(usual._replace(**facts), topic_name))


def held(ends: dict[int, int], stable: dict[int, int] | None = None, **facts: object) -> str:
    usual = TopicFacts(
        topic(Partition(0, 1, 0, (1,), (1,))),
        dict.fromkeys(ends, 0),
        ends,
        ends if stable is None else stable,
        {},
    )
    return "\n".join(
        f"{f.level}: {f.what} -> {f.mend}" for f in topic_findings(usual._replace(**facts))
    )


def told(findings: list[Finding], level: str) -> str:
    return "\n".join(f"{each.what} -> {each.mend}" for each in findings if each.level == level)


def test_a_well_cluster() -> None:
    assert {each.level for each in cluster(Partition(0, 1, 0, (1, 2), (1, 2)))} == {WELL}


def test_partitions_that_lack_replicas() -> None:
    behind = told(cluster(Partition(0, 1, 0, (1, 2), (1,))), WARNING)
    assert "broker 2 is there, but not in sync in 1 partition (orders-0)" in behind
    refused = told(cluster(Partition(0, 1, 0, (1, 2), (1,)), min_in_sync={"orders": 2}), PROBLEM)
    assert "producers with acks=all are refused (NOT_ENOUGH_REPLICAS)" in refused
    gone = told(cluster(Partition(0, -1, 0, (3,), (3,))), PROBLEM)
    assert "nobody leads orders-0" in gone
    assert "waits for broker 3, which may hold records that are nowhere else" in gone
    assert "start broker 3 again; to give up" in gone
    eligible = Partition(0, -1, 0, (1, 2, 3), (1,), (), 0, (2, 3), (4,))
    assert "waits for broker 3, 4, which" in told(cluster(eligible), PROBLEM)
    there = told(cluster(Partition(0, -1, 0, (1,), (1,))), PROBLEM)
    assert "although all brokers that may hold what is committed are there" in there


def test_a_dead_broker_is_one_line_however_many_partitions_miss_it() -> None:
    found = cluster(*(Partition(n, 1, 0, (1, 2, 3), (1, 2)) for n in range(57)))
    assert (
        told(found, PROBLEM)
        == "broker 3 is gone; 57 partitions have fewer replicas -> start broker 3 again"
    )
    assert not told(found, WARNING)


def test_brokers_and_disks() -> None:
    assert "has no controller" in told(cluster(controller_id=-1), PROBLEM)
    away = BrokerFacts(1, "inside:9092", "the name is unknown")
    found = told(cluster(brokers=(away,)), PROBLEM)
    assert "tells clients to find it at inside:9092" in found
    assert "advertised.listeners" in found
    filling = DiskFacts(1, "/data", None, 1000, 10)
    assert "/data of broker 1 has only 10 B left" in told(cluster(disks=(filling,)), WARNING)
    full = DiskFacts(1, "/data", None, 1 << 40, 1 << 20)
    assert "/data of broker 1 is full (1.05 MB left)" in told(cluster(disks=(full,)), PROBLEM)
    assert "is offline: EIO" in told(cluster(disks=(DiskFacts(1, "/d", "EIO"),)), PROBLEM)


def test_a_topic_that_is_empty_or_was_emptied() -> None:
    assert "orders is empty: nobody has written" in held({0: 0})
    emptied = held({0: 9}, begins={0: 9}, configs={"retention.ms": "60000"})
    assert "held 9 records, all of which have been deleted (retention.ms keeps 1 min)" in emptied
    assert "ok: orders holds 9 records in 1 partition" in held({0: 9})
    assert "deletes records after 1 min" in held({0: 9}, configs={"retention.ms": "60000"})


def test_what_a_topic_refuses_and_hides() -> None:
    assert "an open transaction in orders-0 hides 4 records" in held({0: 9}, {0: 5})
    by_sink = held({0: 9}, {0: 5}, held_by={0: "clicks"})
    assert "an open batch of the sink clicks in orders-0 hides 4 records" in by_sink
    assert "ottla sinks describe clicks" in by_sink
    assert "min.insync.replicas is 2" in held({0: 9}, configs={"min.insync.replicas": "2"})
    assert "records without a key are refused" in held(
        {0: 1}, configs={"cleanup.policy": "compact"}
    )
    assert "MESSAGE_TOO_LARGE" in held({0: 1}, configs={"max.message.bytes": "500"})


def test_a_group_that_has_read_everything_is_well() -> None:
    assert {each.level for each in group()} == {WELL}
    assert "it gets nothing because nothing new is written" in told(group(), WELL)


def test_a_group_without_members_or_with_too_many() -> None:
    assert "start a consumer with group.id=billing" in told(group(members=()), PROBLEM)
    idle = (MemberFacts("a", frozenset({"orders"}), 1), MemberFacts("b", frozenset({"orders"}), 0))
    found = told(group(members=idle), WARNING)
    assert "1 of 2 members of group billing have no partition (b)" in found
    assert "ottla topics alter orders --partitions 2" in found
    elsewhere = (MemberFacts("a", frozenset({"payments"}), 1),)
    assert "they read payments" in told(group(members=elsewhere), PROBLEM)


def test_a_group_that_cannot_settle() -> None:
    assert "is rebalancing" in told(group(state="PreparingRebalance"), WARNING)
    assert "rebalanced 9 times in five minutes" in told(group(rebalances=9), WARNING)


def test_offsets_that_lead_nowhere() -> None:
    beyond = told(group(committed={AT: 9}), PROBLEM)
    assert "waits for offset 9 of orders-0, which ends at 5" in beyond
    assert "ottla groups reset billing --topic orders:0 --to-earliest --execute" in beyond
    assert "committed nothing for orders-0" in told(group(committed={}), WARNING)
    assert "2 records of orders-0 were deleted before" in told(
        group(committed={AT: 1}, begins={AT: 3}), WARNING
    )
    assert "is 4 records behind" in told(group(committed={AT: 1}), WELL)
