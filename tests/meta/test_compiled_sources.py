"""Sources that wheels have compiled (hatch_build.py) keep clear of two things that mypyc has another mind about."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def compiled_sources() -> list[Path]:
    [patterns] = [
        ast.literal_eval(node.value)
        for node in ast.parse((REPOSITORY / "hatch_build.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED"
    ]
    return [path for pattern in patterns for path in (REPOSITORY / "src").glob(pattern)]


def looked_at_again(source: str) -> list[str]:
    """Attributes that one statement sets to None and a later one of the same block reads.

    mypy takes them for None until the function itself sets them anew, whatever it calls meanwhile, and so does mypyc.
    """
    blocks = [
        block
        for node in ast.walk(ast.parse(source))
        for block in (getattr(node, part, None) for part in ("body", "orelse", "finalbody"))
        if isinstance(block, list)
    ]
    return [
        f"{attribute} in line {node.lineno}"
        for block in blocks
        for number, statement in enumerate(block)
        for attribute in set_to_none(statement)
        for later in block[number + 1 :]
        for node in ast.walk(later)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == attribute
    ]


def set_to_none(statement: ast.stmt) -> Iterator[str]:
    if not isinstance(statement, ast.Assign):
        return
    [target, *_], value = statement.targets, statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    for left, right in pairs:
        if isinstance(left, ast.Attribute) and ast.unparse(right) == "None":
            yield ast.unparse(left)


def waits_while_it_handles(source: str) -> list[str]:
    """Where a coroutine waits in `except` or `finally`, or at the end of `async with`.

    The exception that is being handled belongs to the thread in a compiled coroutine, and not to itself: whoever runs
    meanwhile takes it for its own, and it may come back to another one.
    """
    tree = ast.parse(source)
    handlers = [
        statement
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        for block in (*(handler.body for handler in node.handlers), node.finalbody)
        for statement in block
    ]
    waits = [each for node in handlers for each in ast.walk(node) if isinstance(each, ast.Await)]
    blocks = [each for each in ast.walk(tree) if isinstance(each, ast.AsyncWith | ast.AsyncFor)]
    return [f"line {node.lineno}" for node in (*waits, *blocks)]


def test_the_checks_find_what_they_are_for() -> None:
    held = "def go(self):\n held, self.held = self.held, None\n self.feed(held)\n if self.held is None:\n  self.read()"
    assert looked_at_again(held) == ["self.held in line 4"]
    assert not looked_at_again(held.replace("if self.held is None", "if self.is_idle"))
    close = "async def go(self):\n try:\n  await self.ask()\n finally:\n  await self.close()"
    assert waits_while_it_handles(close) == ["line 5"]
    assert waits_while_it_handles("async def go():\n async with timeout(1):\n  await ask()") == [
        "line 2"
    ]
    assert not waits_while_it_handles(close.replace("await self.close()", "self.close()"))


@pytest.mark.parametrize("check", [looked_at_again, waits_while_it_handles])
def test_no_compiled_source_does_that(check: Callable[[str], list[str]]) -> None:
    sources = compiled_sources()
    assert len(sources) > 50
    found = {str(path): check(path.read_text()) for path in sources}
    assert not {path: places for path, places in found.items() if places}
