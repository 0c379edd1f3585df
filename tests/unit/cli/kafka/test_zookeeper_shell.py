"""zookeeper-shell against a real ZooKeeper: what it prints is what ZooKeeper's own command line prints."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.node.ensemble import LocalEnsemble, free_ports
from tests.support.zookeeper import new_chroot

SHELL = Path(sys.executable).with_name("zookeeper-shell")
EVENT = "\nWATCHER::\n\nWatchedEvent state:{} type:{} path:{}\n"
CONNECTED = EVENT.format("SyncConnected", "None", "null")
DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \S+ \d{4}"

Shell = Callable[..., subprocess.CompletedProcess[str]]


def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHELL, *words], input=typed, capture_output=True, text=True, timeout=40)


@pytest.fixture
def shell(zookeeper: LocalEnsemble) -> Shell:
    """Runs the command in a chroot of the test's own, which it makes first."""
    chroot = new_chroot()
    above, _, _ = chroot.rpartition("/")
    run(zookeeper.connect, "create", above)
    assert run(zookeeper.connect, "create", chroot).stderr == f"Created {chroot}\n"
    place = zookeeper.connect + chroot

    def told(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        done = run(place, *words, typed=typed)
        assert done.stdout.startswith(f"Connecting to {place}\n")
        done.stdout = done.stdout.removeprefix(f"Connecting to {place}\n")
        return done

    return told


def test_one_command(shell: Shell) -> None:
    done = shell("ls", "/")
    assert (done.stdout, done.stderr, done.returncode) == (f"{CONNECTED}[]\n", "", 0)


def test_a_session_of_many_commands(shell: Shell) -> None:
    typed = """create /a hello
create -e /mine
create -s /a/seq- 'some value'
ls /
ls -R /a

get /a
get "/a/seq-0000000000"
get /mine
set /a -5
get -b /a
delete /a
deleteall /a
getAcl /mine
ls /
quit
get /never"""
    done = shell(typed=typed)
    welcome = f"Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}"
    printed = """[a, mine]
/a
/a/seq-0000000000
hello
some value
null
LTU=
'world,'anyone
: cdrwa
[mine]
"""
    assert done.stdout == welcome + printed + EVENT.format("Closed", "None", "null")
    assert done.stderr == (
        "Created /a\nCreated /mine\nCreated /a/seq-0000000000\nNode not empty: /a\n"
    )
    assert done.returncode == 0
    assert shell("ls", "/").stdout.endswith("[]\n"), "what is ephemeral went with its session"


def test_stats(shell: Shell) -> None:
    shell(typed="create /a hello\ncreate /a/b\nset /a other")
    stat = (
        rf"cZxid = 0x[0-9a-f]+\nctime = {DATE}\nmZxid = 0x[0-9a-f]+\nmtime = {DATE}\n"
        r"pZxid = 0x[0-9a-f]+\ncversion = 1\ndataVersion = 1\naclVersion = 0\n"
        r"ephemeralOwner = 0x0\ndataLength = 5\nnumChildren = 1\n"
    )
    for words, before in {
        ("stat", "/a"): "",
        ("get", "-s", "/a"): "other\n",
        ("ls", "/a", "-s"): r"\[b\]\n",
        ("getAcl", "-s", "/a"): "'world,'anyone\n: cdrwa\n",
    }.items():
        assert re.fullmatch(re.escape(CONNECTED) + before + stat, shell(*words).stdout), words


REFUSED = {
    "get /nope": (1, "Node does not exist: /nope"),
    "stat /nope": (1, "Node does not exist: /nope"),
    "create /there": (1, "Node already exists: /there"),
    "create /no/parent": (1, "Node does not exist: /no/parent"),
    "set -v 7 /there x": (1, "version No is not valid : /there"),
    "delete -v 7 /there": (1, "version No is not valid : /there"),
    "ls there": (1, "Path must start with / character"),
    "ls /there/": (1, "Path must not end with / character"),
    "ls -z /": (1, "Unrecognized option: -z"),
    "set /there": (1, "set path data [-s] [-v version] [-b]"),
    "delete": (1, "delete [-v version] path"),
    "create /x v bad": (1, "bad does not have the form scheme:id:perm"),
    "bogus /": (127, "Command not found: Command not found bogus"),
}


def test_refusals(shell: Shell) -> None:
    shell("create", "/there")
    done = shell(typed="\n".join(REFUSED))
    lines = done.stderr.splitlines()
    told = [line for line in lines if not line.startswith(("\t", "ZooKeeper -server"))]
    assert told == [sentence for _, sentence in REFUSED.values()]
    assert done.returncode == 127
    assert shell("get", "/nope").returncode == 1
    assert "\tls [-s] [-w] [-R] path\n" in shell("help").stderr


def test_an_acl_keeps_others_out(shell: Shell) -> None:
    right = "addauth digest user:password\ncreate /mine v auth:user:password:cdrwa\ngetAcl /mine"
    made = shell(typed=right)
    assert "'digest,'user:" in made.stdout
    done = shell("get", "/mine")
    assert (done.returncode, done.stderr) == (1, "Insufficient permission : /mine\n")
    assert shell(typed="addauth digest user:password\nget /mine").stdout.endswith("\nv\n")


def test_a_watch_tells_once(shell: Shell) -> None:
    done = shell(typed="create /a 1\nget -w /a\nset /a 2\nset /a 3\nsync /\n")
    assert done.stdout.count(EVENT.format("SyncConnected", "NodeDataChanged", "/a")) == 1


def test_a_person_is_prompted(zookeeper: LocalEnsemble) -> None:
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [SHELL, zookeeper.connect], stdin=end, stdout=subprocess.PIPE, stderr=end, text=True
    ) as child:
        os.close(end)
        os.write(terminal, b"history\nquit\n")
        said, _ = child.communicate(timeout=40)
    os.close(terminal)
    assert "JLine support is enabled" in said
    assert f"[zk: {zookeeper.connect}(CONNECTED) 0] 0 - history\n" in said


def test_nobody_there() -> None:
    place = f"127.0.0.1:{free_ports(1)[0]}"
    done = run(place, "ls", "/")
    assert done.returncode == 1
    assert f"ZooKeeper at {place} cannot be reached ({place}: Connection refused)" in done.stderr
    assert run().stderr.startswith("USAGE: zookeeper-shell zookeeper_host:port[/path]")
