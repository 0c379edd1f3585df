"""Files in which people write their topologies: loaded as modules, so that Spark's workers can import them, too."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from ottla.base.errors import OttlaError
from ottla.streams.errors import TopologyError
from ottla.streams.topology.topology import Topology


def load_topology(path: Path) -> Topology:
    """Return the `topology` that a file defines; TopologyError if it cannot be built."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise OttlaError(f"{path}: the file must be a Python module, with a name such as app.py")
    if not path.is_file():
        raise OttlaError(f"{path}: there is no such file")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        module = importlib.import_module(path.stem)
    except TopologyError:
        raise
    except Exception as error:
        raise TopologyError(f"it cannot be loaded: {type(error).__name__}: {error}") from error
    if module.__file__ is None or Path(module.__file__).resolve() != path.resolve():
        raise TopologyError(
            f"another module has the name {path.stem} ({module.__file__}): rename the file"
        )
    found = getattr(module, "topology", None)
    if not isinstance(found, Topology):
        raise TopologyError("it defines no topology: end it with `topology = builder.build()`")
    return found
