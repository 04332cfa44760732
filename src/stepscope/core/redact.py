"""Make a piece of a log fit to be shown: secrets masked, control characters gone, hidden ones marked, length bounded.

Log contents are untrusted and reports are made to be shared, so every excerpt that
enters a report or an error message goes through `redact`, and nothing else may redact.
"""

from __future__ import annotations

import re

from stepscope.core.unseen import visible

MAX_LENGTH = 160
_BEYOND = 840
_MASK = "•••"

# Patterns are strings: `re` compiles and keeps them when the first line is quoted, which a short answer never does.

_TOKENS = r"""(?x)
    \b(?:
        hf_[A-Za-z0-9]{8,} | sk-[A-Za-z0-9_-]{8,} | gh[pousr]_[A-Za-z0-9]{8,} | github_pat_\w{8,} | glpat-[\w-]{8,}
      | xox[abprs]-[\w-]{8,} | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{20,} | ya29\.[\w-]{8,} | npm_[A-Za-z0-9]{16,}
      | pypi-[\w-]{16,} | nvapi-[\w-]{8,} | wandb_v\d_[\w-]{8,} | r8_[A-Za-z0-9]{16,} | local-[0-9a-f]{32,}
      | eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?
      | [0-9a-f]{40}(?:[0-9a-f]{24})?            # a W&B key, and anything as long that looks like one
    )\b
    """
# The name may be glued to other words (WANDB_API_KEY, hf-token, db_password); the value runs to the next white space.
_NAMED = r"""(?ix)
    (?<![\w-]) (?P<name> [\w-]{0,40}? (?: api[_-]?key | access[_-]?key | account[_-]?key | secret[\w-]{0,40}
        | passw(?:or)?d | passphrase | pwd | (?<![a-z]) token (?!s|iz|_?ids?\b|_per|\s+embedding) | credentials?
        | private[_-]?key ) )
    (?P<sep> ["']?\s{0,4}(?:=|:(?!:))\s{0,4} | \s+is\s+ | ["']\s{0,4},\s{0,4} )
    (?P<value> "[^"]{3,} | '[^']{3,} | (?:bearer\s+|basic\s+)? [^\s"',;&}\]]{3,} )
    """
_FLAG = r"(?i)(?<![\w-])(--?[\w-]{0,40}?(?:api-?key|token|secret|password|passwd)(?:\s+|=))([^\s-][^\s]*)"
_AUTH = r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"
_URL_USER = r"(?<=://)[^\s/@:]{1,200}:[^\s@]{1,400}(?=@)"
_URL_QUERY = r"(?i)([?&](?:sig|signature|token|key|api_key|x-amz-[\w-]+)=)[^\s&]+"


def mask(text: str) -> str:
    """`text` with API keys, tokens and passwords replaced by a mask."""
    text = re.sub(_AUTH, rf"\1 {_MASK}", text)
    text = re.sub(_NAMED, lambda m: m["name"] + m["sep"] + (m["value"] if _is_harmless(m["value"]) else _MASK), text)
    text = re.sub(_FLAG, rf"\1{_MASK}", text)
    text = re.sub(_URL_USER, _MASK, text)
    text = re.sub(_URL_QUERY, rf"\1{_MASK}", text)
    return re.sub(_TOKENS, _MASK, text)


def _is_harmless(value: str) -> bool:
    """A flag such as `token = True` names no secret."""
    return value.lower().strip("()") in {"true", "false", "none", "null", _MASK}


def redact(text: str, limit: int = MAX_LENGTH) -> str:
    """`text` as one safe, masked line of at most `limit` characters."""
    # Masked before it is cut: half a key is still half a secret, and would no longer match. The first cut, so that a
    # monstrous line costs nothing, lies far beyond the part that is shown.
    text = mask(visible(text[: limit + _BEYOND]).replace("\t", " ").replace("\n", " ").strip())
    return text if len(text) <= limit else text[: limit - 1] + "…"
