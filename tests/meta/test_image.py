"""Dockerfile, .dockerignore and docker-compose.yml, as far as they can be read without an engine."""

import re
import shlex
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from ottla.config.load import load

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DEFAULTS = {"OTTLA_DEFAULTS_FILE": str(ROOT / "docker" / "broker.properties")}
JUNK = (
    "src/ottla/__pycache__/__main__.cpython-311.pyc",
    "src/ottla.egg-info/PKG-INFO",
    "src/ottla/protocol/header.cpython-311-x86_64-linux-gnu.so",
    ".git/HEAD",
    ".venv/bin/python",
    "ottla-data/meta.properties",
    "tests/conftest.py",
    "docs/cli.md",
)


def copied_from_the_checkout() -> list[str]:
    """What COPY takes, but for what it takes from another stage."""
    lines = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
    return [source.removeprefix("./") for line in lines for source in shlex.split(line)[:-1]]


def is_sent(path: str) -> bool:
    """Whether .dockerignore lets a file through: the last rule that matches it, or a directory above it, counts."""
    sent = True
    places = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        rule = line.strip().removeprefix("!")
        if rule and not rule.startswith("#"):
            patterns = (rule, rule.removeprefix("**/")) if rule.startswith("**/") else (rule,)
            if any(fnmatch(place, pattern) for place in places for pattern in patterns):
                sent = line.startswith("!")
    return sent


def test_the_image_is_made_of_the_sources_and_of_nothing_that_comes_and_goes() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    wanted = copied_from_the_checkout()
    taken = {
        path
        for path in listed
        if any(path == each or path.startswith(f"{each}/") for each in wanted)
    }
    assert {path for path in listed if is_sent(path)} == taken
    assert "src/ottla/__main__.py" in taken
    assert not [path for path in JUNK if is_sent(path)]


def test_a_file_that_is_mounted_is_stronger_than_the_image(tmp_path: Path) -> None:
    alone = load(environment=DEFAULTS)
    assert alone.storage.log_dirs == ("/var/lib/ottla",)
    assert alone.server.listeners[0].host == "0.0.0.0"
    mounted = tmp_path / "server.properties"
    mounted.write_text("advertised.listeners=PLAINTEXT://kafka.example:9092\nlog.dirs=/data\n")
    settings = load(str(mounted), DEFAULTS)
    assert settings.storage.log_dirs == ("/data",)
    assert settings.server.advertised_listeners[0].host == "kafka.example"
    assert settings.server.listeners[0].host == "0.0.0.0", "what the file leaves open stays"
    variables = {**DEFAULTS, "OTTLA_LOG_DIRS": "/elsewhere"}
    assert load(str(mounted), variables).storage.log_dirs == ("/elsewhere",)
    assert not re.search(
        r"^\s*(ENV )?OTTLA_(LOG_DIRS|LISTENERS|ADVERTISED)", DOCKERFILE, re.MULTILINE
    )


def test_the_health_check_asks_where_the_image_serves_it() -> None:
    listener = load(environment=DEFAULTS).ottla.metrics_listener
    assert listener is not None
    assert f"http://localhost:{listener.port}/health" in DOCKERFILE
    assert f"EXPOSE 9092 {listener.port}" in DOCKERFILE
    for service in BROKERS.values():
        assert f"http://localhost:{listener.port}/health" in service["healthcheck"]["test"][-1]


BROKERS = {name: each for name, each in COMPOSE["services"].items() if name.startswith("kafka-")}
ZOOKEEPERS = {n: each for n, each in COMPOSE["services"].items() if n.startswith("zookeeper-")}


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_ports_are_for_this_machine_alone_and_logs_are_rotated(name: str) -> None:
    service = COMPOSE["services"][name]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}


def test_one_service_builds_the_image_and_zookeeper_leaves_no_volume_behind() -> None:
    building = [name for name, service in BROKERS.items() if "build" in service]
    assert building == ["kafka-1"]
    others = [service["pull_policy"] for name, service in BROKERS.items() if name not in building]
    assert set(others) == {"never"}, "there is no such image elsewhere"
    for service in ZOOKEEPERS.values():
        places = {mount.partition(":")[2] for mount in service["volumes"]} | set(service["tmpfs"])
        assert places == {"/data", "/datalog", "/logs"}, "the volumes that the image declares"


def test_commands_in_a_container_find_the_cluster() -> None:
    assert "OTTLA_BOOTSTRAP_SERVERS=localhost:9092" in DOCKERFILE
    inside = {f"{name}:19092" for name in BROKERS}
    for service in BROKERS.values():
        assert set(service["environment"]["OTTLA_BOOTSTRAP_SERVERS"].split(",")) == inside
