"""The test driver: a plain interpreter of a topology, record by record, in memory: the reference of its semantics."""
