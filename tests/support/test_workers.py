"""How many tests run at once follows the cores and the memory that there are."""

from pathlib import Path

import pytest

from tools.workers import cores, memory_bytes, workers

GB = 1 << 30


@pytest.mark.parametrize(
    ("its_cores", "its_memory", "expected"),
    [
        (1, 16 * GB, 2),
        (2, 16 * GB, 4),
        (3, 16 * GB, 6),
        (64, 256 * GB, 6),
        (2, 5 * GB, 2),
        (2, GB, 1),
    ],
)
def test_workers_follow_the_cores_and_fit_into_memory(
    its_cores: int, its_memory: int, expected: int
) -> None:
    assert workers(its_cores, its_memory) == expected


def test_a_container_has_what_its_limits_say(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text(f"{GB}\n")
    assert cores(tmp_path) == 1
    assert memory_bytes(tmp_path) == GB


def test_without_limits_the_machine_counts(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert cores(tmp_path) == cores(tmp_path / "nothing here")
    assert memory_bytes(tmp_path) == memory_bytes(tmp_path / "nothing here")
