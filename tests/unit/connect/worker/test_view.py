"""What the worker's topics say, in the formats that Kafka Connect's workers write."""

from ottla.connect.worker import formats
from ottla.connect.worker.view import Target, View


def replayed(*entries: formats.Entry) -> View:
    view = View()
    for entry in entries:
        view.replay_config(entry.key, entry.value)
    return view


def test_a_connector_is_there_until_it_is_deleted() -> None:
    view = replayed(formats.connector_config("a", {"file": "x"}), formats.connector_config("b", {}))
    assert view.names() == ["a", "b"]
    entry = formats.connector_config("a", None)
    view.replay_config(entry.key, entry.value)
    assert view.names() == ["b"]
    assert view.get("a") is None


def test_records_that_kafka_connect_wrote_are_understood() -> None:
    view = View()
    view.replay_config(b"connector-file", b'{"properties":{"topic":"t","tasks.max":"1"}}')
    view.replay_config(b"target-state-file", b'{"state":"PAUSED"}')
    view.replay_config(b"session-key", b'{"key":"x"}')
    view.replay_config(b"connector-broken", b"{")
    view.replay_offset(b'["file",{"filename":"f"}]', b'{"position":7}')
    view.replay_offset(b"no json", b"{}")
    known = view.get("file")
    assert known is not None
    assert (known.config, known.target) == ({"topic": "t", "tasks.max": "1"}, Target.PAUSED)
    assert list(known.offsets.values()) == [({"filename": "f"}, {"position": 7})]
    assert view.names() == ["file"]


def test_a_stopped_connector_reads_as_paused_for_workers_that_know_no_stop() -> None:
    entry = formats.target_state("a", "STOPPED")
    assert entry.value == b'{"state":"PAUSED","state.v2":"STOPPED"}'
    view = replayed(formats.connector_config("a", {}), entry)
    assert view.get("a").target is Target.STOPPED  # type: ignore[union-attr]


def test_a_restart_is_a_new_version_unless_only_failures_are_meant() -> None:
    view = replayed(formats.connector_config("a", {}))
    known = view.get("a")
    assert known is not None
    for only_failed, is_newer in ((True, False), (False, True)):
        before = known.version
        entry = formats.restart("a", include_tasks=True, only_failed=only_failed)
        view.replay_config(entry.key, entry.value)
        assert (known.version > before) == is_newer


def test_topics_and_status_come_and_go() -> None:
    view = replayed(formats.connector_config("a", {}))
    for entry in (
        formats.topic_status("a", "orders", 1),
        formats.connector_status("a", {"state": "RUNNING"}),
        formats.task_status("a", 0, {"state": "FAILED"}),
    ):
        view.replay_status(entry.key, entry.value)
    known = view.get("a")
    assert known is not None
    assert (known.topics, known.status, known.task) == (
        {"orders"},
        {"state": "RUNNING"},
        {"state": "FAILED"},
    )
    entry = formats.topic_status("a", "orders", None)
    view.replay_status(entry.key, entry.value)
    assert known.topics == set()
