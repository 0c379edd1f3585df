"""Sends the dead letters of `shop` back to where they came from, repaired: amounts in quotes become numbers."""

import json
from dataclasses import replace

from ottla.streams import Processor, Record, StreamsBuilder, f


class Repair(Processor):
    """Mends what can be mended, and drops the headers that tell of the failure."""

    def process(self, record: Record) -> None:
        order = json.loads(record.value)
        order["amount"] = float(order["amount"])
        kept = tuple(
            header for header in record.headers if not header[0].startswith("ottla.error.")
        )
        self.context.forward(replace(record, value=json.dumps(order).encode(), headers=kept))


b = StreamsBuilder()
letters = b.stream("shop-dead-letters", on_error="skip")
origin = f.string(f.headers["ottla.origin.topic"])
letters.process(Repair).to(origin, key="bytes", value="bytes")

topology = b.build()
