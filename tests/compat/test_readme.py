"""The example in the README does what it says."""

import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.compat

README = Path(__file__).parents[2] / "README.md"


def test_five_minutes_with_a_real_client(bootstrap: str) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    topic = f"letters-{uuid.uuid4().hex[:8]}"
    code = found[1].replace("localhost:9092", bootstrap).replace('"letters"', f'"{topic}"')
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1000"), done.stderr
