"""docker-compose.yml: what it says is what the program takes, and its brokers form a cluster."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from ottla.config.load import load
from ottla.http.run import refuse_open_doors
from ottla.http.settings import http_settings
from ottla.node.ensemble import free_ports
from tests.support.clients import consume, create_topic, produce
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from ottla.node.ensemble import LocalEnsemble

pytestmark = [pytest.mark.compat, pytest.mark.java]

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
BROKERS = {name: each for name, each in COMPOSE["services"].items() if name.startswith("kafka-")}


def assignments(service: dict[str, Any]) -> list[str]:
    """What the command sets, as `ottla broker` takes it."""
    command = service["command"]
    assert command[::2] == ["--set"] * (len(command) // 2)
    return list(command[1::2])


@pytest.mark.parametrize("name", BROKERS)
def test_every_setting_is_known(name: str) -> None:
    service = BROKERS[name]
    settings = load(None, service["environment"], assignments(service))
    assert (settings.unknown, settings.ignored) == ((), ())
    assert settings.zookeeper.connect is not None
    assert settings.zookeeper.connect.chroot == "/ottla"
    named = {each.name for each in settings.server.listeners}
    assert named == {each.name for each in settings.server.advertised_listeners}
    assert settings.replication.inter_broker_listener_name in named


def test_services_depend_on_and_mount_what_exists() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
        volumes = {mount.partition(":")[0] for mount in service.get("volumes", ())}
        assert volumes <= set(COMPOSE["volumes"])
        assert "healthcheck" in service
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["ottla", "broker"]' in dockerfile


def test_the_service_in_front_of_them_says_what_it_needs() -> None:
    service = COMPOSE["services"]["http"]
    environment = {
        name: service["environment"][
            f"OTTLA_{name.removeprefix('ottla.').upper().replace('.', '_')}"
        ]
        for name in ("ottla.http.listeners", "ottla.http.anonymous")
    }
    *program, option, servers = service["entrypoint"]
    assert (program, option) == (["ottla", "http"], "--bootstrap-server")
    refuse_open_doors(http_settings(environment, {"bootstrap.servers": servers}))
    assert {each.split(":")[0] for each in servers.split(",")} == set(BROKERS)


class Containers:
    """The brokers of the compose file as processes: its names and ports stand for ones of this machine."""

    def __init__(self, directory: Path, connect: str) -> None:
        self.http: list[int] = []
        self.bootstrap: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        for name, service in BROKERS.items():
            inside, outside, http = free_ports(3)
            told = {"19092": inside, "9092": outside, "9093": outside, "9094": outside}
            environment = {
                key: re.sub(r"(?<=:)(19092|909[234])\b", lambda m, t=told: str(t[m[0]]), str(value))
                .replace("0.0.0.0", "127.0.0.1")
                .replace(f"//{name}:", "//127.0.0.1:")
                for key, value in service["environment"].items()
            }
            environment |= {
                "OTTLA_ZOOKEEPER_CONNECT": f"{connect}/ottla",
                "OTTLA_METRICS_LISTENER": f"127.0.0.1:{http}",
                "OTTLA_LOG_DIRS": str(directory / name),
            }
            command = [sys.executable, "-m", "ottla", "broker", *service["command"]]
            with (directory / f"{name}.log").open("wb") as log:
                process = subprocess.Popen(
                    command, env={**os.environ, **environment}, stdout=log, stderr=log
                )
            self._processes.append(process)
            self.http.append(http)
            self.bootstrap.append(f"127.0.0.1:{outside}")

    def is_healthy(self, port: int) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                return bool(json.load(answer)["ready"])
        except OSError:
            return False

    def stop(self) -> list[int]:
        for process in self._processes:
            process.terminate()
        return [process.wait(30) for process in self._processes]


@pytest.fixture
def containers(zookeeper: "LocalEnsemble", tmp_path: Path) -> Iterator[Containers]:
    started = Containers(tmp_path, f"{zookeeper.connect}/{tmp_path.name}")
    yield started
    started.stop()


def test_the_brokers_form_a_cluster(containers: Containers) -> None:
    for port in containers.http:
        wait_for(lambda port=port: containers.is_healthy(port), "a healthy broker", 30)
    bootstrap = ",".join(containers.bootstrap)
    found = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10)
    assert sorted(f"127.0.0.1:{each.port}" for each in found.brokers.values()) == sorted(
        containers.bootstrap
    )
    topic = create_topic(bootstrap, replicas=3)
    sent = produce(bootstrap, topic, [{"value": b"x"}] * 10, acks="all")
    assert len(consume(bootstrap, topic)) == len(sent) == 10
    assert containers.stop() == [0, 0, 0]
