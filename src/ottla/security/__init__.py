"""Who talks to whom: SASL conversations, logins, key stores and TLS, for clients and brokers alike."""
