"""ListGroups (api 16, v0-v5).

Versions: v3 flexible · v4 only groups in certain states (KIP-518) · v5 only groups of certain types (KIP-848).
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.protocol.apis.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups that this broker coordinates."""
    try:
        shards = context.broker.groups.shards()
    except ApiError as refused:
        return ListGroupsResponse(error_code=refused.code)
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.type_name,
            )
            for shard in shards
            for group in shard.groups.values()
            if (not states or group.state_name.lower() in states)
            and (not types or group.type_name.lower() in types)
        ]
    )
