"""Every metric that is declared, and so documented, is written by somebody."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "ottla"
DECLARES = {"counter", "gauge", "histogram"}
WRITES = {"value", "observe", "observe_together", "labels", "set_function", "set_rows"}


def declared(tree: ast.Module) -> set[str]:
    """The names under which a module keeps its metrics."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in DECLARES
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def written(tree: ast.Module) -> set[str]:
    """The names of what a module counts with, sets or computes."""
    return {
        node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in WRITES
        and isinstance(node.value, ast.Attribute | ast.Name)
    }


def test_every_metric_is_written_by_somebody() -> None:
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")]
    names = set().union(*map(declared, trees))
    assert len(names) > 40
    assert names - set().union(*map(written, trees)) == set()
