"""Small helpers on the text of a sentence."""

from __future__ import annotations


def capital(text: str) -> str:
    """`text` as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """`text` as the end of a sentence; what is cut short has its ellipsis and needs no full stop."""
    return text if text.endswith((".", "…", "!", "?")) else f"{text}."
