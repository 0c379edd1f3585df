"""How often who was killed at which step, over all runs so far."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.pipeline.kills.scene import Strike

RESULTS = Path(".cache", "spark-kills.json")


class Report:
    """Counts that outlive this program; only runs after which everything was right are added."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, struck: Mapping[Strike, int], outcome: str) -> None:
        """One more run."""
        rows = {self._key(row): row for row in self._rows()}
        for strike, count in struck.items():
            fresh = {**strike._asdict(), "outcome": outcome, "strikes": 0}
            row = rows.setdefault(self._key(fresh), fresh)
            row["strikes"] += count
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(list(rows.values()), indent=1))

    def table(self) -> str:
        """One line for each step and victim, for people."""
        strikes: Counter[tuple[str, str, str]] = Counter()
        kinds: dict[tuple[str, str, str], Counter[str]] = {}
        for row in self._rows():
            key = (row["step"], row["victim"], row["outcome"])
            strikes[key] += row["strikes"]
            kinds.setdefault(key, Counter())[row["kind"]] += row["strikes"]
        lines = ["| step | killed | strikes | in jobs | outcome |", "|---|---|---:|---|---|"]
        for (step, victim, outcome), count in sorted(strikes.items()):
            told = ", ".join(
                f"{kind} {n}" for kind, n in sorted(kinds[step, victim, outcome].items())
            )
            lines.append(f"| {step} | {victim} | {count} | {told} | {outcome} |")
        return "\n".join(lines)

    def _rows(self) -> list[dict[str, Any]]:
        return json.loads(self._path.read_text()) if self._path.exists() else []

    @staticmethod
    def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return row["victim"], row["step"], row["kind"], row["outcome"]
