"""Members of consumer groups for tests of the handlers: raw heartbeats."""

from typing import Any

from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.apis.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client


def topic_id(client: Client, topic: str) -> Any:
    """The id of a topic."""
    asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=topic)])
    [found] = client.ask(asked).topics
    return found.topic_id


def join_request(group: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    """A member's first heartbeat, whose fields may be overridden."""
    named: dict[str, Any] = {
        "member_id": "member-of-the-test",
        "rebalance_timeout_ms": 20_000,
        "subscribed_topic_names": list(topics),
        "topic_partitions": [],
        **fields,
    }
    return ConsumerGroupHeartbeatRequest(group_id=group, **named)


def owning_member(client: Client, group: str, topic: str, version: int = 1) -> Any:
    """Join, and report until something is owned: Apache Kafka assigns a little later."""
    answers = [client.ask(join_request(group, topic), version)]

    def owns() -> bool:
        last = answers[-1]
        if last.assignment is not None and last.assignment.topic_partitions:
            return True
        request = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=last.member_id, member_epoch=last.member_epoch
        )
        answers.append(client.ask(request, version))
        return False

    assert answers[0].error_code == 0, answers[0]
    wait_for(owns, "an assignment")
    return answers[-1]
