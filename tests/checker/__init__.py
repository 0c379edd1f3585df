"""Pure: says what a recorded history of clients and a broker proves against the broker."""
