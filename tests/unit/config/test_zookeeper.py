"""zookeeper.connect and its kin: what is read, and what is refused."""

import pytest

from ottla.base.errors import ConfigError
from ottla.config.checks import has_own_id
from ottla.config.load import load
from ottla.config.zookeeper import Credential, OptionalConnect, ZookeeperConnect


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("zk", ("zk:2181",), ""),
        ("zk1:2181,zk2:2182 , zk3", ("zk1:2181", "zk2:2182", "zk3:2181"), ""),
        ("zk:2181/kafka", ("zk:2181",), "/kafka"),
        ("a:1,b:2/deep/chroot/", ("a:1", "b:2"), "/deep/chroot"),
        ("zk:2181/", ("zk:2181",), ""),
        ("[::1]:2181,10.0.0.1", ("[::1]:2181", "10.0.0.1:2181"), ""),
    ],
)
def test_the_servers_and_the_chroot_are_told_apart(
    text: str, hosts: tuple[str, ...], chroot: str
) -> None:
    assert OptionalConnect().parse(text) == ZookeeperConnect(hosts, chroot)


@pytest.mark.parametrize(
    "text", [":2181", "zk:", "zk:0", "zk:65536", "a,,b", "/kafka", "a//b", "a/../b", "a b"]
)
def test_what_names_no_server_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"zookeeper.connect=.*must be host:port"):
        load(assignments=[f"zookeeper.connect={text}"])


def test_without_it_a_broker_is_alone() -> None:
    assert load().zookeeper.connect is None
    assert load(assignments=["zookeeper.connect="]).zookeeper.connect is None


def test_nodes_are_closed_to_others_only_by_somebody() -> None:
    with pytest.raises(ConfigError, match=r"needs ottla.zookeeper.auth"):
        load(assignments=["zookeeper.set.acl=true"])
    closed = ["zookeeper.set.acl=true", "ottla.zookeeper.auth=digest:broker:pass:word"]
    assert load(assignments=closed).zookeeper.auth == Credential("digest", "broker:pass:word")
    with pytest.raises(ConfigError, match=r"\[hidden\]"):
        load(assignments=["ottla.zookeeper.auth=secret"])


def test_a_broker_has_an_id_of_its_own_or_is_given_one() -> None:
    assert not has_own_id(load(assignments=["broker.id=-1"]))
    assert has_own_id(load(assignments=["broker.id=0"]))
    assert has_own_id(load(assignments=["node.id=3"]))
    fixed = ["zookeeper.connect=zk", "broker.id.generation.enable=false"]
    with pytest.raises(ConfigError, match=r"broker.id: must be given"):
        load(assignments=fixed)
    assert load(assignments=[*fixed, "broker.id=3"]).server.node_id == 3
