"""The suite's own settings."""

import pytest


@pytest.fixture(scope="session")
def ottla_settings() -> dict[str, object]:
    return {"num.partitions": 2}
