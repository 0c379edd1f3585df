"""What the controller tells those who watch it."""

from ottla.base.metrics import counter

LOOP_FAILURES = counter(
    "ottla_controller_loop_failures_total",
    "Failures of the controller's loop that nobody foresaw; it goes on, the log says why.",
)
