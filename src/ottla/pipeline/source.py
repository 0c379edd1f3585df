"""`format("ottla")`: what Spark finds under that name, for reading and for writing."""

from __future__ import annotations

import warnings

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from ottla.base.errors import ConfigError
from ottla.pipeline.options import meaningless
from ottla.pipeline.requirements import require_packages
from ottla.pipeline.schema import source_schema
from ottla.pipeline.source_options import SourceOptions, for_batch, for_stream, read_source_options
from ottla.pipeline.worker_settling import settles


class OttlaSource(DataSource):
    """The data source; each part of it is imported where it is first needed."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "ottla"

    @settles
    def schema(self) -> StructType:
        """The columns of a read; Spark asks once, so this is where a warning is said once."""
        require_packages()
        options = self._read_options()
        if options.without_meaning:
            warnings.warn(meaningless(options.without_meaning), stacklevel=2)
        return source_schema(options.include_headers)

    @settles
    def reader(self, schema: StructType) -> DataSourceReader:
        """For spark.read."""
        require_packages()
        from ottla.pipeline.source_batch import BatchReader

        return BatchReader(for_batch(self._checked(schema)))

    @settles
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For spark.readStream."""
        require_packages()
        from ottla.pipeline.stream import StreamReader

        return StreamReader(for_stream(self._checked(schema)))

    @settles
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """For df.write."""
        require_packages()
        from ottla.pipeline.sink import batch_sink

        return batch_sink(dict(self.options), schema, overwrite)

    @settles
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """For df.writeStream; `overwrite` is Spark's word for the output mode complete."""
        require_packages()
        from ottla.pipeline.sink import stream_sink

        return stream_sink(dict(self.options), schema)

    def _read_options(self) -> SourceOptions:
        return read_source_options(dict(self.options))

    def _checked(self, schema: StructType) -> SourceOptions:
        options = self._read_options()
        expected = source_schema(options.include_headers)
        if [field.name for field in schema] != expected.names or schema != expected:
            raise ConfigError(
                "schema", None, "the columns of format('ottla') are fixed; leave out .schema(...)"
            )
        return options
