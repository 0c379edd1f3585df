"""What the broker counts about its clients and their requests."""

from ottla.base.metrics import counter, gauge, histogram

REQUESTS = counter("ottla_requests_total", "Requests received.", labels=("api",))
REQUEST_SECONDS = histogram(
    "ottla_request_seconds",
    "Time from a request's arrival to its answer, waits left out.",
    labels=("api",),
)
UNEXPECTED_FAILURES = counter(
    "ottla_unexpected_failures_total",
    "Requests that failed in a way nobody foresaw; each left a traceback in the log.",
)
PRODUCE_ERRORS = counter(
    "ottla_produce_errors_total", "Batches refused, by error.", labels=("error",)
)
VALIDATED_BESIDE_THE_LOOP = counter(
    "ottla_validated_beside_the_loop_total",
    "Produce requests whose batches were looked into in a thread.",
)
COLD_READS = counter("ottla_cold_reads_total", "Reads that had to go to the disk.")
CONNECTIONS = gauge("ottla_connections", "Open client connections.")
CONNECTIONS_REFUSED = counter(
    "ottla_connections_refused_total", "Connections over a limit, closed at once."
)
CONNECTIONS_EXPIRED = counter(
    "ottla_connections_expired_total", "Connections closed for being idle."
)
FETCH_SESSIONS = gauge("ottla_fetch_sessions", "Incremental fetch sessions in the cache.")
FETCH_SESSION_EVICTIONS = gauge(
    "ottla_fetch_session_evictions", "Fetch sessions evicted to make room."
)
LOOP_STALL_SECONDS = histogram(
    "ottla_loop_stall_seconds", "How late the event loop woke from a short sleep: what held it up."
)
GC_PAUSE_SECONDS = histogram(
    "ottla_gc_pause_seconds",
    "How long each garbage collection held the process; generation 0 is the young one, 2 looks at everything.",
    ("generation",),
)
GC_COLLECTED = counter(
    "ottla_gc_collected_objects_total",
    "Objects in reference cycles that garbage collections found; hardly any, unless something leaves cycles.",
)
