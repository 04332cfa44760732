"""Bytes of a log → Run."""
