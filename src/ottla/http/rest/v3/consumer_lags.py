"""How far groups are behind."""

from __future__ import annotations

from typing import Any, Final

from ottla.base.ids import TopicPartition
from ottla.http.rest.v3.consumer_groups import find_group
from ottla.http.rest.v3.declare import GROUP, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.inspection.group_progress import Reading, readings


class ConsumerLagData(Resource, kw_only=True):
    """How far a group is behind in a partition."""

    cluster_id: str
    consumer_group_id: str
    topic_name: str
    partition_id: int
    current_offset: int
    log_end_offset: int
    lag: int
    consumer_id: str
    instance_id: str | None
    client_id: str


class ConsumerGroupLagSummaryData(Resource, kw_only=True):
    """How far a group is behind in all, and where most."""

    cluster_id: str
    consumer_group_id: str
    max_lag_consumer_id: str
    max_lag_instance_id: str | None
    max_lag_client_id: str
    max_lag_topic_name: str
    max_lag_partition_id: int
    max_lag: int
    total_lag: int
    max_lag_consumer: Related
    max_lag_partition: Related


async def _known(call: Call) -> tuple[str, list[Reading]]:
    """The group of the path, where it has committed something."""
    group = await find_group(call)
    found = await readings(await call.admin(), group)
    return group.group_id, [each for each in found if each.lag is not None]


async def list_lags(call: Call) -> Any:
    """Return the lag of a group in each partition."""
    links = await links_of(call)
    group, found = await _known(call)
    data = [_lag(links, group, each) for each in found]
    return links.listed("KafkaConsumerLagList", data, "consumer-groups", group, "lags")


async def get_lag(call: Call) -> ConsumerLagData:
    """Return the lag of a group in one partition."""
    links = await links_of(call)
    at = TopicPartition(call.path["topic_name"], call.number("partition_id"))
    group, found = await _known(call)
    for each in found:
        if each.at == at:
            return _lag(links, group, each)
    raise HttpError(404, f"group {group} has committed nothing for {at}", code=404)


async def get_summary(call: Call) -> ConsumerGroupLagSummaryData:
    """Return the lag of a group in all."""
    links = await links_of(call)
    group, found = await _known(call)
    if not found:
        raise HttpError(404, f"group {group} has committed nothing", code=404)
    worst = max(found, key=lambda each: each.lag or 0)
    member, where = worst.member, ("consumer-groups", group)
    consumer = "" if member is None else member.member_id
    return ConsumerGroupLagSummaryData(
        kind="KafkaConsumerGroupLagSummary",
        metadata=links.metadata(f"/consumer-group={group}/lag-summary", *where, "lag-summary"),
        cluster_id=links.cluster_id,
        consumer_group_id=group,
        max_lag_consumer_id=consumer,
        max_lag_instance_id=None if member is None else member.instance_id,
        max_lag_client_id="" if member is None else member.client_id,
        max_lag_topic_name=worst.at.topic,
        max_lag_partition_id=worst.at.partition,
        max_lag=worst.lag or 0,
        total_lag=sum(each.lag or 0 for each in found),
        max_lag_consumer=links.to(*where, "consumers", consumer),
        max_lag_partition=links.to("topics", worst.at.topic, "partitions", worst.at.partition),
    )


def _lag(links: Links, group: str, found: Reading) -> ConsumerLagData:
    at, member = found.at, found.member
    where = ("consumer-groups", group, "lags", at.topic, "partitions", at.partition)
    crn = f"/consumer-group={group}/lag={at.topic}/partition={at.partition}"
    return ConsumerLagData(
        kind="KafkaConsumerLag",
        metadata=links.metadata(crn, *where),
        cluster_id=links.cluster_id,
        consumer_group_id=group,
        topic_name=at.topic,
        partition_id=at.partition,
        current_offset=-1 if found.committed is None else found.committed,
        log_end_offset=-1 if found.span is None else found.span.end,
        lag=found.lag or 0,
        consumer_id="" if member is None else member.member_id,
        instance_id=None if member is None else member.instance_id,
        client_id="" if member is None else member.client_id,
    )


_TAG: Final = "Consumer group"
ROUTES: Final = (
    route("GET", f"{GROUP}/lag-summary", get_summary, "Get the lag of a group in all", _TAG,
          answer=ConsumerGroupLagSummaryData),
    route("GET", f"{GROUP}/lags", list_lags, "List the lag of a group by partition", _TAG,
          answer=list_of(ConsumerLagData)),
    route("GET", f"{GROUP}/lags/{{topic_name}}/partitions/{{partition_id}}", get_lag,
          "Get the lag of a group in a partition", _TAG, answer=ConsumerLagData),
)  # fmt: skip
