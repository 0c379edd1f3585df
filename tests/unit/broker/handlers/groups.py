"""Members of classic groups for tests of the handlers: one connection each, raw requests."""

import uuid
from collections.abc import Callable
from typing import Any

from ottla.protocol.apis.describe_groups import DescribeGroupsRequest
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.consumer_protocol import Subscription, encode_subscription
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client

MEMBER_ID_REQUIRED = 79
METADATA = encode_subscription(Subscription(topics=["t"]))


def new_group(client: Client) -> str:
    """A name that nobody uses, with a coordinator that answers; Apache Kafka's takes a while to do so."""
    name = f"group-{uuid.uuid4().hex[:12]}"
    wait_for(lambda: _is_coordinated(client, name), f"a coordinator of {name}")
    return name


def _is_coordinated(client: Client, name: str) -> bool:
    [found] = client.ask(FindCoordinatorRequest(coordinator_keys=[name])).coordinators
    [described] = client.ask(DescribeGroupsRequest(groups=[name]), 5).groups
    return found.error_code == described.error_code == 0


def join_request(group: str, member_id: str = "", **fields: Any) -> JoinGroupRequest:
    """A request to join, whose fields may be overridden."""
    named: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=METADATA)],
        **fields,
    }
    return JoinGroupRequest(group_id=group, member_id=member_id, **named)


def join(client: Client, group: str, version: int = 9, member_id: str = "", **fields: Any) -> Any:
    """Join alone, in both steps where the version has two."""
    answer = client.ask(join_request(group, member_id, **fields), version)
    if answer.error_code == MEMBER_ID_REQUIRED:
        answer = client.ask(join_request(group, answer.member_id, **fields), version)
    return answer


def sync(client: Client, group: str, joined: Any, version: int = 5, **given: bytes) -> Any:
    """Sync as the one who joined; `given` is what each member gets."""
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer" if version >= 5 else None,
        protocol_name="range" if version >= 5 else None,
        assignments=[
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
            for member_id, assignment in given.items()
        ],
    )
    return client.ask(request, version)


def stable_member(client: Client, group: str) -> Any:
    """The only member of a stable group, that owns b"all"."""
    joined = join(client, group)
    assert joined.error_code == 0, joined
    answer = sync(client, group, joined, **{joined.member_id: b"all"})
    assert (answer.error_code, answer.assignment) == (0, b"all")
    return joined


def heartbeat(client: Client, group: str, joined: Any, version: int = 4, **fields: Any) -> int:
    """The error code of a heartbeat."""
    named = {"generation_id": joined.generation_id, "member_id": joined.member_id, **fields}
    return int(client.ask(HeartbeatRequest(group_id=group, **named), version).error_code)


def asked(client: Client, request: Any, version: int) -> Callable[[], Any]:
    """Send a request that is not answered at once; what is returned waits for the answer."""
    client.send(encode_request(request, version, 7, "test"))

    def answer() -> Any:
        correlation_id, response = decode_response(request.api_key, version, client.receive())
        assert correlation_id == 7
        return response

    return answer
