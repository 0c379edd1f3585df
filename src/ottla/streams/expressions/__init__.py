"""Pure: expressions: `f.value.amount > 100`, a small tree, interpreted by the test driver and compiled for Spark."""
