"""Another client of the broker, which does its work and takes the time of it while something else goes on."""

import threading
import time
from types import TracebackType
from typing import Self

from tests.support.clients import create_topic
from tests.support.wire import Wire, batch, produce_request, produced


class Bystander:
    """Produces one record after another on a connection of its own, and keeps how long each took."""

    def __init__(self, bootstrap: str) -> None:
        self._request = produce_request(create_topic(bootstrap, "bystander"), batch(b"x"))
        self._wire = Wire(bootstrap)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seconds: list[float] = []
        self.errors: list[int] = []

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.perf_counter()
            self.errors.append(produced(self._wire.ask(self._request)).error_code)
            self.seconds.append(time.perf_counter() - began)
            self._stopping.wait(0.002)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join(10)
        self._wire.close()
