"""Contexts: named clusters in a file of the user's, and the one that is in use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.cli.parsing import did_you_mean

CONTEXT_VARIABLE: Final = "OTTLA_CONTEXT"
"""Names a context for one shell; the file says which one counts elsewhere."""


class Contexts(NamedTuple):
    """Client settings by the names of contexts, and which context is in use."""

    current: str | None
    settings: Mapping[str, Mapping[str, str]]

    def get(self, name: str) -> Mapping[str, str]:
        """The settings of a context."""
        if name not in self.settings:
            hint = did_you_mean(name, self.settings) or "; `ottla context list` shows what there is"
            raise OttlaError(f"there is no context {name}{hint}")
        return self.settings[name]


def chosen_context(option: str | None = None) -> str | None:
    """The context of --context, else of the environment, else of the file."""
    return option or os.environ.get(CONTEXT_VARIABLE) or read_contexts().current


def contexts_file() -> Path:
    """Where the contexts of this user are kept (XDG)."""
    configured = os.environ.get("XDG_CONFIG_HOME")
    return (Path(configured) if configured else Path.home() / ".config") / "ottla" / "contexts.json"


def read_contexts() -> Contexts:
    """What the file says; nothing if there is none."""
    path = contexts_file()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Contexts(None, {})
    try:
        found = json.loads(text)
        settings = {
            str(name): {str(key): str(value) for key, value in values.items()}
            for name, values in found["contexts"].items()
        }
        return Contexts(found.get("current"), settings)
    except (ValueError, KeyError, AttributeError, TypeError):
        raise OttlaError(
            f"{path} is not a file of contexts; mend it, or remove it and add them again"
        ) from None


def write_contexts(contexts: Contexts) -> None:
    """Replace the file at once: whoever reads it meanwhile finds the old one."""
    path = contexts_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"current": contexts.current, "contexts": contexts.settings}, indent=2)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text + "\n", "utf-8")
    # A context may come to hold a password.
    beside.chmod(0o600)
    beside.replace(path)
