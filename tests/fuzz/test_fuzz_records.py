"""A second of fuzzing for each reader of a producer's bytes; run the module for longer ones."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.seeds import seeds

TARGETS = ["headers", "records", "codecs", "batch", "produce", "arrow"]
SECONDS = 1
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.cpu


@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris: pip install atheris")
@pytest.mark.parametrize("target", TARGETS)
def test_no_bytes_break_a_reader(target, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    # The fuzzer's own limit counts the peak of the process that started it too: see MEMORY_BYTES.
    limits = ["-max_len=4096", "-rss_limit_mb=0", "-timeout=10", f"-max_total_time={SECONDS}"]
    command = [sys.executable, "-m", "tests.fuzz.fuzz_records", target, str(corpus), *limits]
    run = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert "DONE" in run.stderr, run.stderr[-4000:]
