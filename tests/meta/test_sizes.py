"""The tail makes code ugly: no function over a screen, no module over one idea, no name that hides what it is."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 600
FORBIDDEN = ("Manager", "Helper", "Utils", "Util", "Impl")


@cache
def sources() -> tuple[tuple[Path, ast.Module, int], ...]:
    return tuple(_read())


def _read() -> Iterator[tuple[Path, ast.Module, int]]:
    for folder in ("src", "tests", "benchmarks", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            yield path.relative_to(ROOT), ast.parse(text), text.count("\n")


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree, _ in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert not long


def test_no_module_holds_more_than_one_idea() -> None:
    assert not [f"{path}: {lines}" for path, _, lines in sources() if lines > MAX_MODULE_LINES]


def test_every_module_says_what_it_is() -> None:
    assert not [
        str(path) for path, tree, lines in sources() if lines and not ast.get_docstring(tree)
    ]


def test_no_class_is_called_manager_or_helper() -> None:
    assert not [
        f"{path}: {node.name}"
        for path, tree, _ in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(FORBIDDEN)
    ]
