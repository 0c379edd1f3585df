"""What docs/production.md and docs/migrating.md give people to copy is what the programs take."""

import re
from pathlib import Path

import pytest
import yaml

from ottla.config.load import load
from ottla.config.table import TABLE
from tools.render_docs import PAGES

DOCS = Path(__file__).parents[2] / "docs"
PRODUCTION = (DOCS / "production.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PRODUCTION, re.DOTALL)
    assert found is not None
    return found[1]


def test_every_line_of_the_properties_counts(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(block("properties"))
    settings = load(str(path))
    assert (settings.unknown, settings.ignored) == ((), ())
    assert settings.topics.auto_create_topics_enable is False


def test_every_metric_of_an_alert_is_served() -> None:
    served = set(re.findall(r"^\| `(ottla_\w+)`", PAGES["metrics"](), re.MULTILINE))
    [group] = yaml.safe_load(block("yaml"))["groups"]
    asked = set(re.findall(r"ottla_\w+", " ".join(rule["expr"] for rule in group["rules"])))
    assert asked
    assert asked <= served


def test_the_unit_has_what_a_broker_needs() -> None:
    unit = dict(line.split("=", 1) for line in block("ini").splitlines() if "=" in line)
    assert unit["ExecStart"].split()[1] == "broker"
    # The service may write in its state directory alone, so the data have to be there.
    assert f"log.dirs=/var/lib/{unit['StateDirectory']}\n" in block("properties")


@pytest.mark.parametrize("page", ["production", "migrating"])
def test_names_of_settings_and_pages_exist(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    assert not set(re.findall(r"`(ottla(?:\.\w+)+)[`=]", text)) - set(TABLE)
    for link, anchor in re.findall(r"\]\(([\w-]+\.md)(?:#([\w-]+))?\)", text):
        titles = re.findall(r"^#+ (.*)$", (DOCS / link).read_text(), re.MULTILINE)
        assert not anchor or anchor in {title.lower().replace(" ", "-") for title in titles}
