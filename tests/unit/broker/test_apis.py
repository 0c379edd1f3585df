"""The table of APIs: each row finds its handler when it is first asked for, and keeps it."""

from importlib import import_module

import pytest

from ottla.broker.apis import APIS, Api
from ottla.protocol.api_keys import ApiKey


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_the_handler_of_an_api_is_the_module_of_its_name(api: Api) -> None:
    api.load()
    assert api.handle is import_module(f"ottla.broker.handlers.{api.key.name.lower()}").handle


def test_a_handler_is_loaded_with_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat = import_module("ottla.broker.handlers.heartbeat")
    monkeypatch.setattr(heartbeat, "handle", lambda *asked: asked)
    api = Api(ApiKey.HEARTBEAT, (0, 4))
    assert api.handle != heartbeat.handle
    assert api.handle("context", "request") == ("context", "request")
    assert api.handle == heartbeat.handle


def test_the_rows_are_in_the_order_of_their_keys() -> None:
    keys = [api.key for api in APIS]
    assert keys == sorted(set(keys))
