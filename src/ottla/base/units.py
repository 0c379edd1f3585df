"""Pure: sizes in bytes and durations in milliseconds, by the names people use for them."""

KiB = 1024
MiB = 1024 * KiB
GiB = 1024 * MiB

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
