"""Bytes in: files, folders, compressed files and standard input, and how bytes become lines."""
