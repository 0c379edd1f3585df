"""What a result must say about where it was measured, and nothing that names the host."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path

import confluent_kafka

from ottla._version import __version__, is_compiled
from tools import apache_kafka


def facts() -> dict[str, str]:
    """Date, processor, kernel and the versions that took part."""
    return {
        "date": date.today().isoformat(),
        "CPU": f"{_cpu_model()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "Linux": platform.release().split("-")[0],
        "Python": platform.python_version(),
        "ottla": _ottla_version(),
        "Apache Kafka": apache_kafka.VERSION,
        "librdkafka": confluent_kafka.libversion()[0],
    }


def file_name(quick: bool, part: str = "") -> str:
    """A name for the result files: the date, the size of the machine, and what was left out."""
    words = (date.today().isoformat(), f"{os.cpu_count()}-cores", part, "quick" if quick else "")
    return "-".join(word for word in words if word)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _ottla_version() -> str:
    return f"{__version__}, {'compiled' if is_compiled() else 'interpreted'}"
