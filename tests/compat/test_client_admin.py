"""ottla's own admin client, against the broker under test."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Assigned

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.admin import Admin
from ottla.client.administration import topics
from ottla.client.administration.access import AclFilter
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from ottla.client.administration.credentials import ScramCredential, ScramMechanism
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.client.administration.groups import LeavingMember
from ottla.client.administration.offsets import EARLIEST, END_OF_LOG, LATEST, MAX_TIMESTAMP
from ottla.client.administration.quotas import QuotaFilter
from ottla.client.administration.topics import NewPartitions, NewTopic
from ottla.client.administration.transactions import ProducerIdentity
from ottla.client.errors import UnsupportedByBroker
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from tests.support.clients import create_topic, produce, producer, unique_name
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 30


@pytest.fixture
def admin(bootstrap: str) -> Iterator[SyncAdmin]:
    """An admin client that waits: its answers come from `Admin`, in a thread."""
    with SyncAdmin({"bootstrap.servers": bootstrap, "client.id": "test-admin"}) as client:
        yield client


def code_of(outcome: Any) -> int | None:
    return outcome.code if isinstance(outcome, ApiError) else None


def partition(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(topic, number)


def new_topic(admin: SyncAdmin, partitions: int = 1) -> str:
    """A topic whose leaders answer."""
    name = unique_name("administered")
    admin.create_topics([NewTopic(name, partitions, 1)])
    wanted = {partition(name, number): LATEST for number in range(partitions)}
    wait_for(lambda: not any(map(code_of, admin.list_offsets(wanted).values())), "leaders")
    return name


def served(work: Callable[[], T]) -> T:
    """The result, where the broker serves the API."""
    try:
        return work()
    except UnsupportedByBroker as error:
        pytest.skip(str(error))


def test_a_topic_is_created_described_grown_and_deleted(admin: SyncAdmin) -> None:
    name = unique_name("story")
    new = NewTopic(name, 2, 1, configs={"retention.ms": "1000"})
    made = admin.create_topics([new])[name]
    assert not isinstance(made, ApiError)
    assert (made.partitions, made.replication_factor) == (2, 1)
    assert made.configs["retention.ms"] == "1000"
    wait_for(lambda: name in admin.list_topics(), "the topic in the list")
    found = admin.describe_topics([name])[name]
    assert not isinstance(found, ApiError)
    assert (found.id, found.internal, len(found.partitions)) == (made.id, False, 2)
    assert all(each.leader == each.replicas[0] for each in found.partitions)
    assert admin.create_partitions({name: NewPartitions(3)}) == {name: None}
    wait_for(lambda: len(admin.list_topics()[name].partitions) == 3, "three partitions")
    assert admin.delete_topics([name]) == {name: None}
    wait_for(lambda: name not in admin.list_topics(), "no topic in the list")


def test_what_is_refused_says_why_for_each_topic(admin: SyncAdmin) -> None:
    name = new_topic(admin)
    wanted = [NewTopic(name), NewTopic("bad topic!"), NewTopic("wide", 1, 99)]
    made = admin.try_to_create_topics(wanted)
    with pytest.raises(ApiError, match=f"(?s){name}.*bad topic!"):
        admin.create_topics(wanted)
    with pytest.raises(TypeError, match="NewTopic is needed"):
        admin.create_topics({name: 4})  # type: ignore[arg-type]  # what a newcomer tries
    assert code_of(made[name]) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert name in str(made[name])
    assert code_of(made["bad topic!"]) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(made["wide"]) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert code_of(admin.describe_topics(["nope"])["nope"]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(admin.delete_topics(["nope"])["nope"]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fewer = admin.create_partitions({name: NewPartitions(1)})
    assert code_of(fewer[name]) == ErrorCode.INVALID_PARTITIONS


def test_validation_alone_makes_no_topic(admin: SyncAdmin) -> None:
    made = admin.create_topics([NewTopic("only-validated", 4, 1)], validate_only=True)
    assert not isinstance(made["only-validated"], ApiError)
    assert "only-validated" not in admin.list_topics()


def test_replicas_may_be_named(admin: SyncAdmin) -> None:
    name, node = unique_name("placed"), admin.describe_cluster().brokers[0].id
    made = admin.create_topics([NewTopic(name, assignments={0: [node], 1: [node]})])[name]
    assert not isinstance(made, ApiError)
    assert made.partitions == 2


def test_topics_are_described_page_by_page(
    admin: SyncAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [new_topic(admin, 3) for _ in range(3)]
    monkeypatch.setattr(topics, "PARTITIONS_OF_A_PAGE", 2)
    found = admin.describe_topics([*names, "nope"])
    assert code_of(found.pop("nope")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(found) == sorted(names)
    for topic in found.values():
        assert not isinstance(topic, ApiError)
        assert [each.index for each in topic.partitions] == [0, 1, 2]


def test_settings_of_a_topic_are_changed_one_by_one(admin: SyncAdmin, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def settings() -> dict[str, Any]:
        found = admin.describe_configs([resource], include_synonyms=True)[resource]
        assert not isinstance(found, ApiError)
        return found

    assert settings()["retention.ms"].is_default
    changes = [ConfigChange("retention.ms", "5000"), ConfigChange("cleanup.policy", "compact")]
    assert admin.alter_configs({resource: changes}) == {resource: None}
    wait_for(lambda: settings()["retention.ms"].value == "5000", "the changed setting")
    entry = settings()["retention.ms"]
    assert entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert entry.synonyms[0].value == "5000"
    both = ConfigChange("cleanup.policy", "delete", AlterOperation.APPEND)
    gone = ConfigChange("retention.ms", None, AlterOperation.DELETE)
    assert admin.alter_configs({resource: [both, gone]}) == {resource: None}
    wait_for(lambda: settings()["cleanup.policy"].value == "compact,delete", "the appended word")
    assert settings()["retention.ms"].is_default


def test_settings_that_cannot_be_are_refused(admin: SyncAdmin, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    refused = admin.alter_configs({resource: [ConfigChange("retention.ms", "abc")]})[resource]
    assert code_of(refused) == ErrorCode.INVALID_CONFIG
    nowhere = ConfigResource(ResourceType.TOPIC, "nope")
    assert (
        code_of(admin.describe_configs([nowhere])[nowhere]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_settings_of_a_broker_come_from_that_broker(admin: SyncAdmin) -> None:
    node = admin.describe_cluster().brokers[0].id
    resource = ConfigResource(ResourceType.BROKER, str(node))
    found = admin.describe_configs([resource], names=["num.partitions"])[resource]
    assert not isinstance(found, ApiError)
    assert list(found) == ["num.partitions"]
    assert found["num.partitions"].source == ConfigSource.STATIC_BROKER_CONFIG
    assert resource in admin.list_config_resources([ResourceType.BROKER])


def test_offsets_are_found_by_time(admin: SyncAdmin, bootstrap: str, topic: str) -> None:
    times = [1_700_000_001_000, 1_700_000_003_000, 1_700_000_002_000]
    produce(bootstrap, topic, [{"value": b"v", "timestamp": ms, "partition": 0} for ms in times])
    where = partition(topic)

    def at(spec: int) -> Any:
        return admin.list_offsets({where: spec})[where]

    assert (at(EARLIEST).offset, at(LATEST).offset) == (0, 3)
    assert (at(1_700_000_002_000).offset, at(1_700_000_002_000).timestamp_ms) == (1, times[1])
    assert (at(MAX_TIMESTAMP).offset, at(MAX_TIMESTAMP).timestamp_ms) == (1, times[1])
    assert at(1_700_000_009_000).offset == -1
    assert code_of(admin.list_offsets({partition("nope"): LATEST})[partition("nope")]) == 3
    assert code_of(admin.list_offsets({partition(topic, 9): LATEST})[partition(topic, 9)]) == 3


def test_records_are_deleted_up_to_an_offset(admin: SyncAdmin, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [{"value": b"v", "partition": 0}] * 10)
    where = partition(topic)
    assert admin.delete_records({where: 4}) == {where: 4}
    assert code_of(admin.delete_records({where: 11})[where]) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert admin.delete_records({where: END_OF_LOG}) == {where: 10}


def test_the_cluster_tells_who_it_is_and_what_it_speaks(admin: SyncAdmin, bootstrap: str) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True)
    [broker] = cluster.brokers
    assert cluster.cluster_id
    assert broker.port == int(bootstrap.rsplit(":", 1)[1])
    assert cluster.authorized_operations > 0
    served = admin.api_versions(broker.id)
    assert served.versions[ApiKey.METADATA][1] >= 12
    assert "transaction.version" in served.supported_features


def test_log_directories_show_what_lies_in_them(
    admin: SyncAdmin, bootstrap: str, topic: str
) -> None:
    produce(bootstrap, topic, [b"v" * 1000] * 10)
    wanted = [partition(topic)]
    [(_, directories)] = admin.describe_log_dirs(partitions=wanted).items()
    [(path, directory)] = directories.items()
    assert not isinstance(directory, ApiError)
    assert path.startswith("/")
    assert directory.replicas[partition(topic)].size_bytes > 10_000
    assert directory.total_bytes > 0


def test_leaders_and_replicas_are_where_they_should_be(admin: SyncAdmin, topic: str) -> None:
    elected = served(lambda: admin.elect_leaders(partitions=[partition(topic)]))
    assert code_of(elected[partition(topic)]) == ErrorCode.ELECTION_NOT_NEEDED
    assert admin.list_partition_reassignments() == {}
    ended = admin.alter_partition_reassignments({partition(topic): None})
    assert code_of(ended[partition(topic)]) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@contextmanager
def member(bootstrap: str, group: str, topic: str, **settings: str) -> Iterator[Consumer]:
    """A consumer that has its partitions."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    client = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "client.id": "reader", **named}
    )
    with closing(client):
        client.subscribe([topic])
        wait_for(lambda: client.poll(0.05) is None and client.assignment(), "an assignment", 30)
        yield client


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_shows_its_members_and_what_they_read(
    admin: SyncAdmin, bootstrap: str, protocol: str
) -> None:
    name, group = new_topic(admin, 2), unique_name(protocol)
    with member(bootstrap, group, name, group_protocol=protocol):
        listed = {each.group_id: each for each in admin.list_groups()}
        assert (listed[group].type.lower(), listed[group].protocol_type) == (protocol, "consumer")
        found = admin.describe_groups([group, "nope"])
    assert code_of(found["nope"]) == ErrorCode.GROUP_ID_NOT_FOUND
    description = found[group]
    assert not isinstance(description, ApiError)
    assert (description.type.lower(), description.state) == (protocol, "Stable")
    [reader] = description.members
    assert reader.client_id == "reader"
    assert reader.assignment == (partition(name, 0), partition(name, 1))
    assert reader.subscribed_topics == (name,)
    assert (description.epoch is not None) == (protocol == "consumer")
    assert description.coordinator.port == int(bootstrap.rsplit(":", 1)[1])


def test_groups_are_listed_by_state_and_type(admin: SyncAdmin, bootstrap: str, topic: str) -> None:
    group = unique_name("listed")
    admin.alter_group_offsets(group, {partition(topic): CommittedOffset(0)})

    def names(**filters: list[str]) -> list[str]:
        return [each.group_id for each in admin.list_groups(**filters)]

    assert group in names(states=["Empty"], types=["classic"])
    assert group not in names(states=["Stable"])
    assert group not in names(types=["consumer"])
    assert group not in names(protocol_types=["connect"])


def test_offsets_of_a_group_are_set_read_and_deleted(admin: SyncAdmin, topic: str) -> None:
    group, where = unique_name("resting"), partition(topic)
    offset = CommittedOffset(5, -1, "a note")
    assert admin.alter_group_offsets(group, {where: offset}) == {where: None}
    assert admin.list_group_offsets(group) == {where: offset}
    assert admin.list_group_offsets(group, [where, partition(topic, 7)]) == {
        where: offset,
        partition(topic, 7): CommittedOffset(-1, -1, ""),
    }
    assert admin.delete_group_offsets(group, [where]) == {where: None}
    assert admin.list_group_offsets(group) == {}
    admin.alter_group_offsets(group, {where: offset})
    assert admin.delete_groups([group, "nope"])[group] is None
    assert code_of(admin.delete_groups(["nope"])["nope"]) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_with_members_is_neither_deleted_nor_moved(
    admin: SyncAdmin, bootstrap: str
) -> None:
    name, group = new_topic(admin), unique_name("busy")
    with member(bootstrap, group, name) as reader:
        reader.commit(offsets=[Assigned(name, 0, 0)], asynchronous=False)
        assert code_of(admin.delete_groups([group])[group]) == ErrorCode.NON_EMPTY_GROUP
        moved = admin.alter_group_offsets(group, {partition(name): CommittedOffset(1)})
        assert code_of(moved[partition(name)]) == ErrorCode.UNKNOWN_MEMBER_ID
        gone = admin.delete_group_offsets(group, [partition(name)])
        assert code_of(gone[partition(name)]) == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


def test_a_static_member_is_sent_away_by_its_instance_id(admin: SyncAdmin, bootstrap: str) -> None:
    name, group = new_topic(admin), unique_name("static")
    with member(bootstrap, group, name, group_instance_id="one"):
        unknown = LeavingMember("two")
        refused = admin.remove_members(group, [unknown])
        assert code_of(refused[unknown]) == ErrorCode.UNKNOWN_MEMBER_ID
        assert admin.remove_members(group, [LeavingMember("one")]) == {LeavingMember("one"): None}


@contextmanager
def open_transaction(bootstrap: str, topic: str, transactional_id: str) -> Iterator[Producer]:
    """A producer with one record in a transaction that is not over."""
    client = producer(bootstrap, transactional_id=transactional_id)
    client.init_transactions(TIMEOUT_S)
    client.begin_transaction()
    client.produce(topic, b"v", partition=0)
    client.flush(TIMEOUT_S)
    yield client
    client.purge()


def test_an_open_transaction_is_found_described_and_fenced(
    admin: SyncAdmin, bootstrap: str, topic: str
) -> None:
    transactional_id, where = unique_name("open"), partition(topic)
    with open_transaction(bootstrap, topic, transactional_id):
        listed = admin.list_transactions(states=["Ongoing"])
        every = {each.transactional_id: each for node in listed.values() for each in node}
        found = admin.describe_transactions([transactional_id, "nope"])
        assert code_of(found["nope"]) == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        description = found[transactional_id]
        assert not isinstance(description, ApiError)
        assert (description.state, description.partitions) == ("Ongoing", (where,))
        assert description.producer_id == every[transactional_id].producer_id
        producers = admin.describe_producers([where])[where]
        assert not isinstance(producers, ApiError)
        assert [each.transaction_start_offset for each in producers] == [0]
        fenced = admin.fence_producers([transactional_id])[transactional_id]
        assert not isinstance(fenced, ApiError)
        assert fenced.producer_epoch > description.producer_epoch


def test_a_hanging_transaction_is_aborted_in_its_partition(
    admin: SyncAdmin, bootstrap: str, topic: str
) -> None:
    where = partition(topic)
    with open_transaction(bootstrap, topic, unique_name("hanging")):
        [hanging] = admin.describe_producers([where])[where]  # type: ignore[misc]
        identity = ProducerIdentity(hanging.producer_id, hanging.producer_epoch)
        admin.abort_transaction(where, identity, max(0, hanging.coordinator_epoch))

        def start() -> int:
            [now] = admin.describe_producers([where])[where]  # type: ignore[misc]
            return now.transaction_start_offset

        wait_for(lambda: start() == -1, "the end of the transaction")
        with pytest.raises(ApiError, match="no topic nope"):
            admin.abort_transaction(partition("nope"), identity, 0)


def test_quotas_are_set_and_removed(admin: SyncAdmin) -> None:
    alice = (("user", unique_name("alice")),)
    default = (("client-id", None), ("user", alice[0][1]))
    changes = {alice: {"producer_byte_rate": 1024.0}, default: {"consumer_byte_rate": 2048.0}}
    assert served(lambda: admin.alter_client_quotas(changes)) == {alice: None, default: None}
    anyone = [QuotaFilter("user")]
    wait_for(lambda: default in admin.describe_client_quotas(anyone), "the quotas")
    assert admin.describe_client_quotas(anyone)[alice] == {"producer_byte_rate": 1024.0}
    assert default not in admin.describe_client_quotas(anyone, strict=True)
    removed = {alice: {"producer_byte_rate": None}, default: {"consumer_byte_rate": None}}
    assert admin.alter_client_quotas(removed) == {alice: None, default: None}


def test_passwords_are_set_and_removed(admin: SyncAdmin) -> None:
    user, kind = unique_name("bob"), ScramMechanism.SCRAM_SHA_256
    credential = ScramCredential(user, kind, b"secret")
    assert served(lambda: admin.alter_user_scram_credentials(set=[credential])) == {user: None}
    wait_for(
        lambda: admin.describe_user_scram_credentials([user])[user] == {kind: 4096}, "the password"
    )
    assert admin.alter_user_scram_credentials(delete=[(user, kind)]) == {user: None}
    wait_for(
        lambda: (
            code_of(admin.describe_user_scram_credentials([user])[user])
            == ErrorCode.RESOURCE_NOT_FOUND
        ),
        "no password",
    )


def test_without_an_authorizer_there_are_no_rules(admin: SyncAdmin) -> None:
    with pytest.raises(ApiError) as raised:
        served(lambda: admin.describe_acls(AclFilter()))
    assert raised.value.code == ErrorCode.SECURITY_DISABLED


def test_features_can_be_tried_without_changing_them(admin: SyncAdmin) -> None:
    level = admin.api_versions().finalized_features["transaction.version"][1]
    served(lambda: admin.update_features({"transaction.version": level}, validate_only=True))
    with pytest.raises(ApiError, match=r"no\.such"):
        admin.update_features({"no.such": 1}, validate_only=True)


def test_many_questions_at_once_share_the_connection(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with Admin({"bootstrap.servers": bootstrap}) as admin:
            where = {partition(topic): LATEST}
            answers = await asyncio.gather(*(admin.list_offsets(where) for _ in range(50)))
            assert all(answer == answers[0] for answer in answers)

    asyncio.run(asyncio.wait_for(story(), TIMEOUT_S))


def test_topics_made_by_another_client_are_seen(admin: SyncAdmin, bootstrap: str) -> None:
    name = create_topic(bootstrap, partitions=4)
    assert len(admin.list_topics(include_internal=False)[name].partitions) == 4


QUIET = """
import asyncio, sys
from ottla.client.admin import Admin
from ottla.client.errors import BrokerUnreachable

async def main(*servers):
    for server in servers:
        async with Admin({"bootstrap.servers": server}) as admin:
            try:
                print(len(await admin.list_topics()) > 0)
            except BrokerUnreachable as error:
                print(error)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_program_that_closes_its_client_ends_without_a_word(bootstrap: str, topic: str) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", QUIET, bootstrap, "localhost:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "True"
    assert "nothing listens on localhost:1" in done.stdout
