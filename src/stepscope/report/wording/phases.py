"""The cells of a phase in the table of where the time went."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.i18n import Language
from stepscope.ledger.phases import PhaseTotal


class PhaseCells(NamedTuple):
    """What a table says of a phase; no figure where nothing shows how long it took."""

    name: str
    share: str
    time: str
    span: str
    basis: str


def phase_cells(total: PhaseTotal, language: Language) -> PhaseCells:
    """The cells of one phase."""
    name = language.text(f"phase-{total.phase}")
    if total.is_unpriced and not total.num:
        most = language.text("basis-unseen", most=language.duration(total.high_s))
        return PhaseCells(name, "", "?", "", most)
    if total.is_unpriced:
        key = "basis-in-steps" if total.is_in_steps else "basis-unpriced"
        return PhaseCells(name, "", "?", "", language.text(key, count=total.num))
    return PhaseCells(
        name,
        language.percent(total.share),
        language.duration(total.seconds),
        language.span(total.low_s, total.high_s, total.seconds),
        language.text(f"basis-{total.basis}"),
    )
