"""kafka-reassign-partitions between the log directories of a broker, from its beginning to its end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.cli.kafka import log_dirs, reassign_partitions
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

RECORDS = 3_000


class Tools:
    """Kafka's tools, and a file that says where the only partition of a topic shall be."""

    def __init__(
        self, bootstrap: str, topic: str, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._server = ["--bootstrap-server", bootstrap]
        self._topic, self._file, self._capsys = topic, file, capsys

    def reassign(self, action: str, directory: str, *options: str) -> str:
        wanted = {"topic": self._topic, "partition": 0, "replicas": [1], "log_dirs": [directory]}
        self._file.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
        words = [f"--{action}", "--reassignment-json-file", str(self._file), *options]
        assert reassign_partitions.main([*self._server, *words]) == 0
        return self._capsys.readouterr().out

    def places(self) -> dict[str, bool]:
        """The directories that hold the partition, and whether it is on its way there."""
        assert log_dirs.main([*self._server, "--describe", "--topic-list", self._topic]) == 0
        told = json.loads(self._capsys.readouterr().out.splitlines()[-1])
        return {
            each["logDir"]: partition["isFuture"]
            for each in told["brokers"][0]["logDirs"]
            for partition in each["partitions"]
        }


def test_a_replica_is_moved_slowly_called_back_and_moved_after_all(
    own_broker: Callable[..., OttlaBroker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {f"{tmp_path}/one", f"{tmp_path}/two"}
    broker = own_broker({"log.dirs": ",".join(sorted(paths))})
    topic = create_topic(broker.bootstrap)
    produce(broker.bootstrap, topic, [b"x" * 1000] * RECORDS)
    tools = Tools(broker.bootstrap, topic, tmp_path / "moves.json", capsys)
    [(old, _)] = tools.places().items()
    [new] = paths - {old}
    said = tools.reassign("execute", new, "--replica-alter-log-dirs-throttle", "1000")
    assert f"started moving log directory to {new} for replica {topic}-0 with broker 1 \n" in said
    assert tools.places() == {old: False, new: True}
    assert f"replica {topic}-0-1 is still in progress." in tools.reassign("verify", new)
    tools.reassign("cancel", new)
    assert tools.places() == {old: False}
    assert f"not being moved from log dir {old} to {new}." in tools.reassign("verify", new)
    tools.reassign("execute", new)
    done = f"Reassignment of replica {topic}-0-1 completed successfully."
    wait_for(lambda: done in tools.reassign("verify", new), "the end of the move")
    assert tools.places() == {new: False}
    assert len(consume(broker.bootstrap, topic)) == RECORDS
