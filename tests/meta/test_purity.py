"""A module that says it is pure imports no clock, socket, file or thread, and no ottla module that does."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
IMPURE = {
    "asyncio", "io", "kazoo", "logging", "os", "pathlib", "random", "secrets", "select", "shutil", "signal", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "uvloop",
}  # fmt: skip
# Both are values and errors with nothing behind them, though one can make a random id.
CONSIDERED_PURE = {"ottla.base.ids", "ottla.base.units"}


def pure_modules() -> dict[str, ast.Module]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        if (ast.get_docstring(tree) or "").startswith("Pure:"):
            found[
                ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            ] = tree
    return found


def imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("ottla") and is_package(node.module):
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
            else:
                names.add(node.module)
    return names


def is_package(module: str) -> bool:
    return (SOURCE / Path(*module.split("."))).is_dir()


def test_pure_modules_import_nothing_that_acts() -> None:
    pure = pure_modules()
    assert len(pure) > 20
    guilty = []
    for module, tree in pure.items():
        for name in imported(tree):
            if name.split(".")[0] in IMPURE:
                guilty.append(f"{module} imports {name}")
            elif name.startswith("ottla.") and name not in pure and name not in CONSIDERED_PURE:
                guilty.append(f"{module} imports {name}, which is not pure")
    assert not guilty
