"""Compiles what every request passes through, with mypyc, when a wheel is built with OTTLA_COMPILE=1.

The modules are the same, typed as they are: a wheel without this does the same things, and takes longer for them.
Nobody who installs ottla needs a compiler: whoever builds a wheel for a platform does.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "OTTLA_COMPILE"
QUICK = "quick"
"""In place of 1: the same modules in half of the time (32 s of CPU instead of 63), not optimised, for tests."""
SOURCE = Path(__file__).parent / "src"

COMPILED = (
    "ottla/protocol/header.py",
    "ottla/protocol/varint.py",
    "ottla/protocol/*_frames.py",
    "ottla/protocol/records/*.py",
    "ottla/cluster/image.py",
    "ottla/storage/epochs.py",
    "ottla/storage/log.py",
    "ottla/storage/log_read.py",
    "ottla/storage/producer_state.py",
    "ottla/storage/segment.py",
    "ottla/replication/divergence.py",
    "ottla/replication/follower_*.py",
    "ottla/replication/leader*.py",
    "ottla/replication/partition*.py",
    "ottla/replication/throttle.py",
    "ottla/broker/busy_poll.py",
    "ottla/broker/commits_together.py",
    "ottla/broker/connection.py",
    "ottla/broker/dispatch.py",
    "ottla/broker/fetch_sessions.py",
    "ottla/broker/frames.py",
    "ottla/broker/later.py",
    "ottla/broker/offset_frames.py",
    "ottla/broker/partition_answers.py",
    "ottla/broker/repeated_commits.py",
    "ottla/broker/reply.py",
    "ottla/broker/server.py",
    "ottla/broker/transaction_entry.py",
    "ottla/broker/zero_copy.py",
    "ottla/broker/handlers/add_*_to_txn.py",
    "ottla/broker/handlers/*heartbeat.py",
    "ottla/broker/handlers/end_txn.py",
    "ottla/broker/handlers/fetch.py",
    "ottla/broker/handlers/init_producer_id.py",
    "ottla/broker/handlers/*_group.py",
    "ottla/broker/handlers/offset_commit.py",
    "ottla/broker/handlers/offset_fetch.py",
    "ottla/broker/handlers/produce.py",
    "ottla/broker/handlers/txn_offset_commit.py",
    "ottla/broker/handlers/write_txn_markers.py",
    "ottla/testing/dispatcher.py",
    "ottla/coordination/**/*.py",
)
PACKAGE = "__init__.py"


class CompiledWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Puts compiled modules into a wheel, beside their sources."""

    def dependencies(self) -> list[str]:
        """What the build needs beside hatchling."""
        return ["mypy>=2.4", "setuptools>=77"] if self._wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles, unless nobody asked, or the sources themselves are being installed."""
        if not self._wanted or version == "editable":
            return
        self._work = tempfile.TemporaryDirectory(prefix="ottla-compile-")
        built = compile_into(Path(self._work.name))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for library in built.rglob("*.so"):
            build_data["force_include"][str(library)] = str(library.relative_to(built))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was only there to be packed."""
        if hasattr(self, "_work"):
            self._work.cleanup()

    @property
    def _wanted(self) -> bool:
        return self.target_name == "wheel" and os.environ.get(SWITCH) in ("1", QUICK)


def compile_into(work: Path) -> Path:
    """The directory below `work` in which the compiled modules are."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    found = {path for pattern in COMPILED for path in SOURCE.glob(pattern)}
    modules = sorted(str(path.relative_to(SOURCE)) for path in found if path.name != PACKAGE)
    built, is_quick = work / "lib", os.environ.get(SWITCH) == QUICK
    with contextlib.chdir(SOURCE):
        extensions = mypycify(
            # What strict types would find is found by `make lint`, and where the build has no types it needs none.
            ["--config-file=", "--ignore-missing-imports", *modules],
            # What takes longer to build is not faster: the code waits for memory.
            opt_level="0" if is_quick else "1",
            debug_level="0",
            multi_file=not is_quick,
            target_dir=str(work / "c"),
            group_name="ottla",
        )
        if is_quick:  # gcc looks for what it might warn of for two minutes, in one file of 90 MB
            for extension in extensions:
                extension.extra_compile_args.append("-Wno-all")
        commands = {"build_ext": side_by_side()}
        distribution = Distribution({"ext_modules": extensions, "cmdclass": commands})
        command: Any = distribution.get_command_obj("build_ext")
        command.build_lib, command.build_temp = str(built), str(work / "o")
        command.ensure_finalized()
        command.run()
    return built


def side_by_side() -> type[Any]:
    """setuptools' build_ext, but with a compiler on each core: all modules are one extension to it."""
    from setuptools.command.build_ext import build_ext

    class SideBySide(build_ext):
        def build_extensions(self) -> None:
            compiler: Any = self.compiler

            def compile_all(sources: list[str], output_dir: str | None = None, macros: Any = None,
                            include_dirs: Any = None, debug: bool = False, extra_preargs: Any = None,
                            extra_postargs: Any = None, depends: Any = None) -> list[str]:  # fmt: skip
                _, objects, postargs, options, build = compiler._setup_compile(
                    output_dir, macros, include_dirs, sources, depends, extra_postargs
                )
                arguments = compiler._get_cc_args(options, debug, extra_preargs)

                def compile_one(name: str) -> None:
                    compiler._compile(name, *build[name], arguments, postargs, options)

                with ThreadPool(len(os.sched_getaffinity(0))) as pool:
                    pool.map(compile_one, [name for name in objects if name in build], chunksize=1)
                return list(objects)

            compiler.compile = compile_all
            super().build_extensions()

    return SideBySide
