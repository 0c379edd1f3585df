"""What `import ottla` offers, and what it costs."""

import subprocess
import sys

import pytest

import ottla


@pytest.mark.parametrize("name", ottla.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ottla, name) is not None
    assert name in dir(ottla)


def test_names_that_are_not_are_told() -> None:
    with pytest.raises(AttributeError, match="module 'ottla' has no attribute 'Streams'"):
        ottla.Streams  # noqa: B018


def test_importing_the_package_imports_no_client() -> None:
    program = (
        "import ottla, sys; print([m for m in sys.modules if m.startswith(('ottla.', 'asyncio'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['ottla._version']"


def test_clients_import_nothing_heavy() -> None:
    program = "import ottla, sys; ottla.Producer, ottla.Consumer, ottla.Admin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {
        "kio",
        "click",
        "rich",
        "uvloop",
        "importlib.metadata",
        "ottla.broker",
        "ottla.storage",
    }
    assert not heavy & set(done.stdout.split())
