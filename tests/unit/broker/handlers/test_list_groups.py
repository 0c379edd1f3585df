"""ListGroups, in every version."""

import pytest

from ottla.protocol.apis.list_groups import ListGroupsRequest
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import join, new_group, stable_member


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(client: Client, version: int) -> None:
    group = new_group(client)
    stable_member(client, group)
    answer = client.ask(ListGroupsRequest(), version)
    assert answer.error_code == 0
    [found] = [each for each in answer.groups if each.group_id == group]
    assert found.protocol_type == "consumer"
    assert found.group_state == ("Stable" if version >= 4 else "")
    assert found.group_type == ("classic" if version >= 5 else "")


def test_filters_are_not_particular_about_case(client: Client) -> None:
    stable, joining = new_group(client), new_group(client)
    stable_member(client, stable)
    join(client, joining)

    def listed(**filters: list[str]) -> set[str]:
        groups = client.ask(ListGroupsRequest(**filters)).groups
        return {each.group_id for each in groups} & {stable, joining}

    assert listed(states_filter=["stable"]) == {stable}
    assert listed(states_filter=["Stable", "completingrebalance"]) == {stable, joining}
    assert listed(types_filter=["Classic"]) == {stable, joining}
    assert listed(types_filter=["consumer"]) == set()
    assert listed(states_filter=["no such state"]) == set()
