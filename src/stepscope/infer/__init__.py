"""A format for a log that no format of the catalogue claims, worked out from the log itself."""
