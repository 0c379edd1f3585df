"""Errors carry the names of Kafka's exceptions where its tools print them."""

import subprocess
from pathlib import Path

import pytest

from ottla.base.errors import ApiError
from ottla.cli.kafka.java_names import java_name, java_text
from ottla.protocol.errors import ErrorCode
from tests.support.requirements import requires

LIST_ERRORS = """
public class ListErrors {
    public static void main(String[] arguments) {
        for (var error : org.apache.kafka.common.protocol.Errors.values())
            if (error.exception() != null)
                System.out.println(error.code() + " " + error.exception().getClass().getName()
                    + " " + error.message());
    }
}
"""


def test_a_sentence_of_the_broker_is_kept() -> None:
    error = ApiError(ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert java_text(error) == (
        "org.apache.kafka.common.errors.GroupIdNotFoundException: Group g not found."
    )


def test_a_code_that_is_not_known_is_an_unknown_error() -> None:
    assert java_name(30_000) == "org.apache.kafka.common.errors.UnknownServerException"


@pytest.mark.java
def test_every_name_and_every_sentence_is_kafkas(tmp_path: Path) -> None:
    requires("java", "maven")
    from tools.apache_kafka import jars

    source = tmp_path / "ListErrors.java"
    source.write_text(LIST_ERRORS)
    command = ["java", "-cp", f"{jars()}/*", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    for line in done.stdout.splitlines():
        code, name, sentence = line.split(" ", 2)
        known = ErrorCode(int(code))
        assert java_name(known) == name
        told = java_text(ApiError(known, known.message)).partition(": ")[2]
        assert told in (sentence, known.message)
