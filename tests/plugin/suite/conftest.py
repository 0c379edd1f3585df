"""The suite's own settings; coroutines are run as asyncio's plugins do it."""

import asyncio
import inspect

import pytest


@pytest.fixture(scope="session")
def ottla_settings() -> dict[str, object]:
    return {"num.partitions": 2}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
