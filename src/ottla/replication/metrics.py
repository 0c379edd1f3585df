"""What replication tells those who watch it."""

from ottla.base.metrics import counter, gauge

REPLICATED_BYTES = counter("ottla_replicated_bytes_total", "Bytes of records fetched from leaders.")
ISR_SHRINKS = counter("ottla_isr_shrinks_total", "Times a replica was removed from an ISR.")
ISR_EXPANDS = counter("ottla_isr_expands_total", "Times replicas were added to an ISR.")
UNDER_REPLICATED = gauge(
    "ottla_under_replicated_partitions", "Partitions led here of which replicas are out of sync."
)
