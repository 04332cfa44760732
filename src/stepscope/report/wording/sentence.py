"""Small helpers on the text of a sentence."""

from __future__ import annotations


def capital(text: str) -> str:
    """`text` as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
