"""A log directory: its lock, its identity, its failure."""

from pathlib import Path

import pytest

from ottla.base.errors import ConfigError, LogDirOffline
from ottla.storage.log_dir import LogDir, cluster_id_of, read_properties


def test_two_brokers_cannot_share_a_directory(tmp_path: Path) -> None:
    first, second = LogDir(str(tmp_path)), LogDir(str(tmp_path))
    first.acquire()
    with pytest.raises(ConfigError, match=r"\.lock"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_a_new_directory_is_claimed(tmp_path: Path) -> None:
    log_dir = LogDir(str(tmp_path))
    log_dir.identify("cluster", 3, "embedded")
    pairs = read_properties(str(tmp_path / "meta.properties"))
    assert pairs["version"] == "1"
    assert (pairs["cluster.id"], pairs["node.id"]) == ("cluster", "3")
    again = LogDir(str(tmp_path))
    again.identify("cluster", 3, "embedded")
    assert again.directory_id == log_dir.directory_id
    assert cluster_id_of(str(tmp_path)) == "cluster"


@pytest.mark.parametrize(
    ("claim", "named"),
    [(("other", 3, "embedded"), "cluster.id"), (("cluster", 4, "embedded"), "node.id")],
)
def test_a_directory_of_another_broker_is_refused(
    tmp_path: Path, claim: tuple[str, int, str], named: str
) -> None:
    LogDir(str(tmp_path)).identify("cluster", 3, "embedded")
    with pytest.raises(ConfigError, match=named):
        LogDir(str(tmp_path)).identify(*claim)


def test_a_directory_of_kafkas_is_taken_over(tmp_path: Path) -> None:
    text = "#\n#Sun Nov 15 2026\nversion=0\nbroker.id=3\ncluster.id=cluster\n"
    (tmp_path / "meta.properties").write_text(text)
    LogDir(str(tmp_path)).identify("cluster", 3, "embedded")
    assert read_properties(str(tmp_path / "meta.properties"))["node.id"] == "3"


def test_only_the_first_failure_is_told(tmp_path: Path) -> None:
    told: list[LogDir] = []
    log_dir = LogDir(str(tmp_path))
    log_dir.on_offline = told.append
    log_dir.fail(LogDirOffline("first"))
    log_dir.fail(LogDirOffline("second"))
    assert told == [log_dir]
    assert str(log_dir.offline) == "first"
