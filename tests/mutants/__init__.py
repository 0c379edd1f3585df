"""Brokers with one promise taken out, which the checker must notice; nothing of them is in the product."""
