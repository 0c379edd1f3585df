"""What ends a client: closing it, and forks of the process it lives in."""
