"""A small asyncio client of the wire protocol: producers, consumers, administration."""
