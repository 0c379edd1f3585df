"""Model of the clients: the real producer, consumer and transactions on simulated brokers, in virtual time.

Hypothesis draws a plan of what goes wrong; the promises of docs/clients.md must hold whatever it draws.
"""
