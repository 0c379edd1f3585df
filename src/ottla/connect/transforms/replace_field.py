"""ReplaceField: keep, drop and rename fields."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.data.schema import Struct, struct
from ottla.connect.errors import ConfigInvalid
from ottla.connect.options.table import Kind, Option, Options
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct


class ReplaceField(KeyOrValue):
    """Replaces."""

    options = Options(
        (
            Option(
                name="include", kind=Kind.LIST, default=[], doc="Fields to keep; empty keeps all."
            ),
            Option(
                name="exclude", kind=Kind.LIST, default=[], doc="Fields to drop, before `include`."
            ),
            Option(name="renames", kind=Kind.LIST, default=[], doc="Pairs old:new."),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Read the pairs."""
        self._include = frozenset(self.settings["include"])
        self._exclude = frozenset(self.settings["exclude"])
        self._renames: dict[str, str] = {}
        for pair in self.settings["renames"]:
            parts = pair.split(":")
            if len(parts) != 2:
                raise ConfigInvalid(
                    {
                        "renames": [
                            f"Invalid value {','.join(self.settings['renames'])} for configuration renames:"
                            f" Invalid rename mapping: {pair}"
                        ]
                    }
                )
            self._renames[parts[0]] = parts[1]

    def apply(self, record: Record) -> Record:
        """Return the record with other fields."""
        part, schema = self.part_of(record), self.schema_of(record)
        if part is None:
            return record
        if schema is None:
            given = require_map(part, "field replacement")
            kept = {self._renamed(n): v for n, v in given.items() if self._keeps(n)}
            return self.with_part(record, None, kept)
        value = require_struct(part, "field replacement")
        fields = [field for field in schema.fields if self._keeps(field.name)]
        updated = struct(
            iter([(self._renamed(f.name), f.schema) for f in fields]), like=schema, default=None
        )
        defaults = self.settings["replace.null.with.default"]
        values = [value[f.name] if defaults else value.raw(f.name) for f in fields]
        return self.with_part(record, updated, Struct(updated, values))

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _renamed(self, name: str) -> str:
        return self._renames.get(name, name)
