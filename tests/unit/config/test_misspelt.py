"""Names that are nearly right."""

import pytest

from ottla.base.errors import ConfigError
from ottla.config.kafka import is_ignored
from ottla.config.load import load
from ottla.config.misspelt import edits, meant
from ottla.config.table import SYNONYMS, TABLE

from .kafka_facts import facts


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("", "", 0), ("log.dir", "log.dirs", 1), ("abc", "acb", 2), ("kitten", "sitting", 3)],
)
def test_the_distance_of_two_names(left: str, right: str, distance: int) -> None:
    assert edits(left, right) == edits(right, left) == distance


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("auto.create.topic.enable", "auto.create.topics.enable"),
        ("Log.Retention.Hour", "log.retention.hours"),
        ("log.retension.hours", "log.retention.hours"),
        ("ottla.log.levl", "ottla.log.level"),
    ],
)
def test_a_file_with_a_misspelt_setting_is_refused(tmp_path, written: str, right: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"{written}=1\n")
    with pytest.raises(ConfigError) as refused:
        load(str(path))
    assert str(refused.value) == (
        f"unknown setting: {written} (set by {path}), did you mean {right}?"
    )


def test_all_of_them_are_told_at_once(tmp_path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("log.dir5=/data\nnum.partition=3\nmy.own.note=hello\n")
    with pytest.raises(ConfigError, match=r"settings: log\.dir5 .* num\.partition .*") as refused:
        load(str(path))
    assert "my.own.note" not in str(refused.value)


def test_a_misspelt_variable_is_told_as_one() -> None:
    with pytest.raises(ConfigError, match=r"OTTLA_LOG_LEVL\), did you mean OTTLA_LOG_LEVEL\?"):
        load(environment={"OTTLA_LOG_LEVL": "debug"})


def test_what_is_far_from_every_setting_is_only_warned_of(tmp_path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("my.own.note=hello\nmy.other.note=hello\n")
    assert load(str(path), {"OTTLA_TYPO": "1"}).unknown == (
        "my.other.note",
        "my.own.note",
        "typo",
    )


def test_no_setting_of_kafka_is_taken_for_a_misspelt_one() -> None:
    known = (*TABLE, *SYNONYMS)
    strange = [name for name in facts("broker") if name not in known and not is_ignored(name)]
    assert not {name: meant(name, known) for name in strange if meant(name, known)}


def test_settings_that_are_near_each_other_are_both_known() -> None:
    assert meant("log.dirs", (*TABLE, *SYNONYMS)) == "log.dirs"
    assert meant("log.roll.ms", ["log.roll.hours"]) is None
