"""What a test needs from the machine: present, or a skip that says what to install."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

SYSTEM_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _has(command: str) -> bool:
    return shutil.which(command, path=SYSTEM_PATH) is not None


def _can_mount_images() -> bool:
    return os.geteuid() == 0 and Path("/dev/loop-control").exists()


def _can_make_namespaces() -> bool:
    return os.geteuid() == 0 and _has("ip")


REQUIREMENTS: dict[str, tuple[Callable[[], bool], str]] = {
    "java": (lambda: _has("java"), "Java 17 or newer: apt-get install default-jdk-headless"),
    "javac": (lambda: _has("javac"), "a Java compiler: apt-get install default-jdk-headless"),
    "maven": (lambda: _has("mvn"), "Maven: apt-get install maven"),
    "chromium": (lambda: _has("chromium"), "Chromium: apt-get install chromium"),
    "kcat": (lambda: _has("kcat"), "kcat: apt-get install kcat"),
    "bash": (lambda: _has("bash"), "bash: apt-get install bash"),
    "zsh": (lambda: _has("zsh"), "zsh: apt-get install zsh"),
    "fish": (lambda: _has("fish"), "fish: apt-get install fish"),
    "gcc": (lambda: _has("gcc"), "a C compiler: apt-get install gcc libc6-dev"),
    "mkfs.ext4": (lambda: _has("mkfs.ext4"), "mkfs.ext4: apt-get install e2fsprogs"),
    "losetup": (lambda: _has("losetup"), "losetup: apt-get install mount"),
    "nft": (lambda: _has("nft"), "nft: apt-get install nftables"),
    "network namespaces": (_can_make_namespaces, "root and ip: apt-get install iproute2"),
    "loop devices": (_can_mount_images, "root and loop devices: run as root, with /dev/loop*"),
}


def requires(*names: str) -> None:
    """Skip the calling test unless the machine has everything named; fail if it must have all."""
    missing = [advice for has, advice in (REQUIREMENTS[name] for name in names) if not has()]
    if not missing:
        return
    sentence = f"this test needs {'; and '.join(missing)}"
    if os.environ.get("OTTLA_REQUIRE_ALL") == "1":
        pytest.fail(f"{sentence} (OTTLA_REQUIRE_ALL=1 makes this skip a failure)", pytrace=False)
    pytest.skip(sentence)
