"""What v3 lacks: reading records, moving offsets, reassignments, elections, transactions and more."""
