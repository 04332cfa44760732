"""A Run: what was read from a log, as columns, and what follows from it alone."""
