"""The admin client as one class: it has every verb, and pays for none that is not used."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from ottla.client.admin import VERBS, Admin
from ottla.client.administration.base import Administration
from ottla.client.sync_admin import SyncAdmin
from tests.unit.client.scripted import run

NOTHING_HEAVY = """
import sys
import ottla.client.admin
heavy = {"kio", "click", "rich", "uvloop", "importlib.metadata", "json", "cramjam", "kazoo"}
print(sorted(heavy & set(sys.modules)), [m for m in sys.modules if "administration." in m])
"""


def public(cls: type[Any]) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_")]


@pytest.mark.parametrize("name", VERBS)
def test_the_table_of_verbs_is_complete(name: str) -> None:
    module, _, cls = name.partition(".")
    found = getattr(import_module(f"ottla.client.administration.{module}"), cls)
    assert issubclass(found, Administration)
    assert sorted(VERBS[name]) == sorted(public(found))


def test_every_verb_has_a_sentence_and_a_waiting_twin() -> None:
    async def story() -> None:
        async with Admin({"bootstrap.servers": "localhost:1"}) as admin:
            for verb in (verb for verbs in VERBS.values() for verb in verbs):
                method, twin = getattr(admin, verb), getattr(SyncAdmin, verb)
                assert inspect.iscoroutinefunction(method)
                assert twin.__doc__ == method.__doc__
                assert method.__doc__.endswith(".")
                assert verb in dir(admin)

    run(story())


def test_a_verb_that_does_not_exist_is_an_attribute_error() -> None:
    async def story() -> None:
        async with Admin({"bootstrap.servers": "localhost:1"}) as admin:
            with pytest.raises(AttributeError, match="an admin client cannot make_coffee"):
                _ = admin.make_coffee  # type: ignore[attr-defined]

    run(story())


def test_importing_the_admin_client_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOTHING_HEAVY],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert done.stdout.split("\n")[0] == "[] ['ottla.client.administration.base']"
