"""A run while it is going: follow it, say what it does now, record it, look inside it."""
