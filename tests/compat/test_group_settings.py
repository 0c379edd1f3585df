"""Settings of one group: read and changed by several clients, and followed by its members."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from ottla import Admin
from ottla.client.administration import configs as own
from tests.support.clients import admin, create_topic, unique_name
from tests.support.members import settle
from tests.support.modern_members import Modern, ModernChild
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

PARTITIONS = 4
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


@pytest.fixture(scope="module")
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


@pytest.fixture
def group(client: AdminClient) -> Iterator[str]:
    """The name of a group, which has no settings of its own when the test is over."""
    name = unique_name("group")
    yield name
    change(client, name, (SESSION, None), (HEARTBEAT, None))


def change(
    client: AdminClient,
    group: str,
    *settings: tuple[str, str | None],
    kind: ResourceType = ResourceType.GROUP,
) -> None:
    """Set what has a value, and take back what has none."""
    ops = {True: AlterConfigOpType.DELETE, False: AlterConfigOpType.SET}
    entries = [ConfigEntry(n, v, incremental_operation=ops[v is None]) for n, v in settings]
    resource = ConfigResource(kind, group, incremental_configs=entries)
    [future] = client.incremental_alter_configs([resource]).values()
    future.result(20)


def described(client: AdminClient, group: str, name: str) -> ConfigEntry:
    [future] = client.describe_configs([ConfigResource(ResourceType.GROUP, group)]).values()
    return future.result(20)[name]


def test_a_group_may_have_settings_before_it_has_members(client: AdminClient, group: str) -> None:
    assert described(client, group, SESSION).value == "45000"
    change(client, group, (SESSION, "46000"), (HEARTBEAT, "6000"))
    wait_for(lambda: described(client, group, SESSION).value == "46000", "the setting")
    entry = described(client, group, SESSION)
    assert entry.source == own.ConfigSource.DYNAMIC_GROUP_CONFIG
    assert entry.synonyms["group.consumer.session.timeout.ms"].value == "45000"
    change(client, group, (SESSION, None))
    wait_for(lambda: described(client, group, SESSION).value == "45000", "the default")
    assert described(client, group, HEARTBEAT).value == "6000"


def test_what_the_broker_does_not_allow_is_refused(client: AdminClient, group: str) -> None:
    with pytest.raises(KafkaException) as refused:
        change(client, group, (HEARTBEAT, "6000"), (SESSION, "60001"))
    error = refused.value.args[0]
    assert error.code() == KafkaError.INVALID_CONFIG
    assert "group.consumer.max.session.timeout.ms" in error.str()
    assert described(client, group, HEARTBEAT).value != "6000"


def test_ottlas_own_client_changes_them_too(bootstrap: str, group: str) -> None:
    resource = own.ConfigResource(own.ResourceType.GROUP, group)
    with closing(Admin({"bootstrap.servers": bootstrap})) as administrator:
        changes = {resource: [own.ConfigChange(SESSION, "47000")]}
        assert administrator.alter_configs(changes) == {resource: None}
        wait_for(lambda: resource in administrator.list_config_resources([resource.type]), "it")
        [entry] = administrator.describe_configs([resource], names=[SESSION])[resource].values()
        assert (entry.value, entry.source) == ("47000", own.ConfigSource.DYNAMIC_GROUP_CONFIG)


def test_a_member_that_is_killed_is_missed_as_soon_as_its_group_says(
    bootstrap: str, client: AdminClient, group: str
) -> None:
    topic = create_topic(bootstrap, partitions=PARTITIONS)
    victim = ModernChild(bootstrap, group, topic)
    settle([victim], [4], PARTITIONS)
    # Were it not for this, the victim would be a member for 45 s, longer than the test waits.
    change(client, group, (SESSION, "1500"))
    with closing(Modern(bootstrap, group, topic)) as survivor:
        # The victim gives up partitions by heartbeats, and has learned with them.
        settle([survivor, victim], [2, 2], PARTITIONS)
        victim.kill()
        settle([survivor], [4], PARTITIONS)


def test_all_groups_may_be_made_to_wait_for_their_next_assignment(quick: str) -> None:
    interval, client = "group.consumer.assignment.interval.ms", admin(quick)
    topic, group = create_topic(quick, partitions=PARTITIONS), unique_name("group")
    [broker] = map(str, client.list_topics(timeout=20).brokers)
    with closing(Modern(quick, group, topic)) as first:
        settle([first], [4], PARTITIONS)
        change(client, broker, (interval, "15000"), kind=ResourceType.BROKER)
        with closing(Modern(quick, group, topic)) as second:
            # Many a heartbeat, so that it would have its share.
            for _ in range(20):
                first.poll()
                second.poll()
            assert (len(first.owned()), len(second.owned())) == (4, 0)
            change(client, broker, (interval, "0"), kind=ResourceType.BROKER)
            settle([first, second], [2, 2], PARTITIONS)
    change(client, broker, (interval, None), kind=ResourceType.BROKER)
