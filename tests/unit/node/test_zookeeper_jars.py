"""A ZooKeeper server is found where people have one, or they are told what to install."""

import os
from pathlib import Path

import pytest

from ottla.node import zookeeper_jars
from ottla.node.ensemble import LocalEnsemble
from ottla.node.zookeeper_jars import ZookeeperMissing, find_classpath, find_java
from tests.support.requirements import requires

SERVER = ("zookeeper-3.9.5.jar", "zookeeper-jute-3.9.5.jar", "slf4j-api-2.0.13.jar")


def lay_out(directory: Path, *names: str) -> Path:
    """A directory that holds these files, with nothing in them."""
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).touch()
    return directory


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing installed beside Python itself."""
    monkeypatch.setattr(zookeeper_jars, "find_spec", lambda name: None)
    monkeypatch.setattr(zookeeper_jars, "DEBIAN", tmp_path / "none.jar")


@pytest.mark.parametrize("inside", [".", "lib"])
def test_the_one_that_was_named_comes_first(tmp_path: Path, inside: str) -> None:
    home = lay_out(tmp_path / "home" / inside, *SERVER)
    spark = lay_out(tmp_path / "spark" / "jars", *SERVER)
    names = {"ZOOKEEPER_HOME": str(tmp_path / "home"), "SPARK_HOME": str(spark.parent)}
    assert {Path(jar).parent for jar in find_classpath(names).split(os.pathsep)} == {home}


def test_of_spark_only_what_the_server_needs_is_taken(tmp_path: Path) -> None:
    lay_out(tmp_path / "jars", *SERVER, "spark-core_2.13-4.2.0.jar", "netty-common-4.2.jar")
    found = find_classpath({"SPARK_HOME": str(tmp_path)}).split(os.pathsep)
    assert sorted(Path(jar).name for jar in found) == sorted([*SERVER, "netty-common-4.2.jar"])


def test_debians_jar_names_the_others_by_itself(
    bare_machine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lay_out(tmp_path / "java", "zookeeper.jar")
    monkeypatch.setattr(zookeeper_jars, "DEBIAN", tmp_path / "java" / "zookeeper.jar")
    assert find_classpath({}) == str(tmp_path / "java" / "zookeeper.jar")


def test_where_there_is_none_a_sentence_says_what_to_install(
    bare_machine: None, tmp_path: Path
) -> None:
    with pytest.raises(ZookeeperMissing, match=r"pip install pyspark.*apt-get install zookeeper"):
        find_classpath({})
    lay_out(tmp_path / "empty")
    with pytest.raises(ZookeeperMissing, match="ZOOKEEPER_HOME"):
        find_classpath({"ZOOKEEPER_HOME": str(tmp_path / "empty")})


def test_java_is_found_or_asked_for(tmp_path: Path) -> None:
    java = lay_out(tmp_path / "jdk" / "bin", "java") / "java"
    java.chmod(0o755)
    assert find_java({"JAVA_HOME": str(tmp_path / "jdk")}) == str(java)
    with pytest.raises(ZookeeperMissing, match="needs Java 17 or newer"):
        find_java({"PATH": str(tmp_path)})


def test_the_server_inside_pyspark_serves(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    requires("java")
    with LocalEnsemble(tmp_path, classpath=find_classpath({})) as local:
        assert local.leader.mode() == "standalone"
