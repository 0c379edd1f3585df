"""The broker's own log: an event and its pairs, for people or for machines."""

import io
import json
import logging

import pytest

from ottla.base.ids import TopicPartition
from ottla.base.log import ROOT, configure, logger

log = logger("ottla.storage.log")


@pytest.fixture
def printed():
    stream = io.StringIO()
    root = logging.getLogger(ROOT)
    before = (root.handlers[:], root.level, root.propagate)
    yield stream
    root.handlers, root.level, root.propagate = before


def test_an_event_is_one_line_with_its_pairs(printed):
    configure("console", "info", printed)
    log.info("segment rolled", partition=TopicPartition("clicks", 3), base_offset=7)
    [line] = printed.getvalue().splitlines()
    assert " INFO    segment rolled partition=clicks-3 base_offset=7 [storage.log]" in line


def test_values_that_would_be_misread_are_quoted(printed):
    configure("console", "info", printed)
    log.warning("odd", empty="", spaced="a b", broken='x\n"y"')
    assert r'empty="" spaced="a b" broken="x\n\"y\""' in printed.getvalue()
    assert printed.getvalue().count("\n") == 1


def test_json_keeps_numbers_and_prints_the_rest_as_people_read_it(printed):
    configure("json", "debug", printed)
    log.debug("fetched", partition=TopicPartition("t", 0), size_bytes=12, ok=True, event="other")
    entry = json.loads(printed.getvalue())
    assert entry["partition"] == "t-0"
    assert (entry["size_bytes"], entry["ok"], entry["event"], entry["event_"]) == (
        12,
        True,
        "fetched",
        "other",
    )
    assert (entry["level"], entry["logger"]) == ("debug", "ottla.storage.log")


@pytest.mark.parametrize("format", ["console", "json"])
def test_only_exception_prints_a_traceback(printed, format):
    configure(format, "info", printed)
    try:
        raise RuntimeError("boom")
    except RuntimeError as error:
        log.error("append failed", error=error)
        assert "Traceback" not in printed.getvalue()
        log.exception("append failed")
    assert "Traceback" in printed.getvalue()
    assert "RuntimeError: boom" in printed.getvalue()


def test_what_is_below_the_level_is_neither_printed_nor_formatted(printed):
    class Costly:
        def __str__(self):
            raise AssertionError("formatted")

    configure("console", "warning", printed)
    log.debug("per request", what=Costly())
    log.info("rare", what=Costly())
    assert not log.enabled_for_debug()
    assert printed.getvalue() == ""


def test_configuring_again_replaces_what_was(printed):
    configure("console", "info", io.StringIO())
    configure("console", "info", printed)
    log.info("once")
    assert printed.getvalue().count("once") == 1
