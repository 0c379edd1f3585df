"""Settings of connectors, transforms and converters: declared once, parsed, validated and shown from there."""
