"""Questions that commands and pages ask of a cluster and its records, over the wire protocol alone."""
