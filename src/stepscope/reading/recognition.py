"""Which format wrote a log: a competition of accounts. No line decides for ever.

Lines are held back while they are few. The formats whose lines occur, and the reading that the structure of the log
suggests, are tried on them; the best account of rows and seconds wins. Lines from the middle and the end of a long file
take part in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stepscope.catalogue import detect
from stepscope.lines.format import Format
from stepscope.lines.match import LOOKED_THROUGH, claim, prefix_shape
from stepscope.reading.account import Account, assemble, best_of, give_account, shares
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.tally import Claimed, Tally
from stepscope.run.model import Candidate
from stepscope.source.lines import BREAK

HOLD_CHARS = 1 << 17
PIECE_BYTES = 1 << 15  # of the middle and of the end of a long file, which take part in the decision
_MAX_CHARS = 1 << 24
_DOUBTFUL_CHARS = 1 << 21
_MAX_INFERRED_LINES = 6_000
_MOST_TRIED = 4
# A log without any step is still known by its header: this many different lines, and not much else.
_ENOUGH_HEADER = 2
_HEADER_SHARE = 0.05
_BARS_SHARE = 0.9
# The structure of the log is looked at when lines of one shape that nobody takes for steps outnumber the steps.
_FEW, _OUTNUMBERED = 8, 2
# One format is clearly ahead when the next one claims this much less.
_AHEAD = 8
# The last lines held back, of which one with a number is looked for in the preview, and how far into it.
_LAST_HELD, _MOST_TWICE = 8, 2_000


class Verdict(NamedTuple):
    """The format that won, how many rows it has in the lines looked at, and what the others amount to."""

    format: Format
    num_rows: int
    candidates: tuple[Candidate, ...]


class Recognition:
    """The lines held back, and which formats claim some of them.

    hold_chars
        so much is held back before the first decision, then twice as much, …, until a format has rows
    adapt
        what a program printed at the top of its log changes about its format
    """

    def __init__(
        self,
        taught: tuple[Format, ...],
        hold_chars: int = HOLD_CHARS,
        adapt: Callable[[Format], Format] = lambda fmt: fmt,
    ) -> None:
        self._taught = taught
        self.adapt = adapt
        self._tally = Tally(taught)
        self._num_chars = 0
        self._due = hold_chars
        self._preview: list[str] = []
        self._num_dropped = 0  # lines of a file in which nothing was recognised for very long
        self._trials: dict[str, tuple[int, RunAssembler]] = {}  # of catalogued formats: how many lines each has read
        self._inferred: tuple[int, Format | None] | None = None
        self._verdict: tuple[int, Verdict | None] | None = None
        self.pending: list[str] = []
        self.rank: int | None = None

    def is_user_text(self, head: bytes) -> bool:
        """Whether a format that the user taught claims a line of a file's beginning: then it is a text of lines."""
        lines = head.decode("utf-8", errors="replace").splitlines() if self._taught else []
        return any(detect.settles(fmt, line.strip()) for fmt in self._taught for line in lines if line.strip())

    def foresee(self, lines: Sequence[str]) -> None:
        """Let lines from further down the file take part in the decision; they are read when their turn comes."""
        self._preview += [BREAK, *lines]
        for line in lines:
            if text := line.strip():
                self._tally.take(text)

    def consider(self, line: str) -> None:
        """Hold a line back."""
        self._num_chars += len(line) + 1
        if self._num_chars > _MAX_CHARS:
            self._num_dropped += 1
        else:
            self.pending.append(line)
        if text := line.strip():
            self._tally.take(text)

    def decide(self) -> Verdict | None:
        """The format, once enough lines are held back and it has rows; None until then."""
        if self._num_chars < self._due:
            return None
        self._due = self._num_chars * 2
        found = self.verdict()
        if self._preview:
            self._due = _MAX_CHARS  # what comes later has been seen
        if found is None or not found.num_rows:
            return None
        # Before the first step of a trainer, its engine and what it prepares have said much already.
        is_doubtful = found.format.is_engine or found.format.inferred is not None
        return None if is_doubtful and not self._preview and self._num_chars < _DOUBTFUL_CHARS else found

    def verdict(self) -> Verdict | None:
        """The best account of the lines held back; None where nothing in them looks like a training."""
        if self._verdict is None or self._verdict[0] != self._tally.num_lines:
            self._verdict = self._tally.num_lines, self._compete()
        return self._verdict[1]

    def _compete(self) -> Verdict | None:
        claimed = self._tally.claimed()
        names = self._contenders(claimed)
        if self._is_clear(names, claimed):
            return self._clear_verdict(names, claimed)
        formats = [self._tally.format(name) for name in names]
        if not formats:
            formats = [fmt for fmt in (self._plugin(),) if fmt is not None]
        accounts = [self.account(fmt) for fmt in formats]
        inferred = self._infer() if self._needs_structure(accounts, claimed) else None
        if inferred is not None:
            accounts.append(self.account(inferred))
        header = self._header(claimed) if not any(account.num_rows for account in accounts) else None
        if header is not None and header.name not in names:
            accounts.append(self.account(header))
        if not accounts:
            return None
        best = best_of(accounts)
        return Verdict(best.format, best.num_rows, shares(accounts))

    # -- who takes part -----------------------------------------------------------------------------------

    def _contenders(self, claimed: dict[str, Claimed]) -> list[str]:
        """The formats that may have written the log, the most particular first."""
        most_weak = max((what.weak for what in claimed.values()), default=0)
        bars_alone = max(_ENOUGH_HEADER, _BARS_SHARE * self._tally.num_lines)
        found = [
            name
            for name, what in claimed.items()
            # Nothing but bars: whose else should they be?
            if what.is_settling or (what.weak and (what.num_kinds > 1 or what.weak >= bars_alone))
        ]
        # A few lines more say little: checkpoints, which one format counts as steps and the other knows as events.
        nearly = _BARS_SHARE * most_weak
        found = [name for name in found if claimed[name].is_settling or claimed[name].weak >= nearly]
        taught = [fmt.name for fmt in self._taught if fmt.name in found]
        most = sorted(set(found).difference(taught), key=lambda name: (-claimed[name].steps, detect.place_of(name)))
        return [*taught, *sorted(most[:_MOST_TRIED], key=detect.place_of)]

    def _is_clear(self, names: list[str], claimed: dict[str, Claimed]) -> bool:
        """Whether one format claims the log and nothing in it speaks for another reading."""
        if not names:
            return False
        ahead, *others = sorted((claimed[name].steps for name in names), reverse=True)
        best = next(name for name in names if claimed[name].steps == ahead)
        if not claimed[best].is_settling:
            return False
        if any(claimed[name].steps and name in {fmt.name for fmt in self._taught} for name in names if name != best):
            return False
        if ahead < max(1, _AHEAD * (others[0] if others else 0)):
            return False
        return not self._is_outnumbered(self._tally.format(best), ahead)

    def _is_outnumbered(self, fmt: Format, num_rows: int) -> bool:
        """Whether lines of one shape that a format does not know are many more than its rows; of an engine's, as many.

        Then there may be another series, that of a trainer nobody knows.
        """
        most = num_rows // 2 if fmt.is_engine else _OUTNUMBERED * num_rows
        return self._tally.most_unclaimed(fmt) > max(_FEW, most)

    def _clear_verdict(self, names: list[str], claimed: dict[str, Claimed]) -> Verdict:
        """Without trying the others: by what they claim."""
        ordered = sorted(names, key=lambda name: -claimed[name].steps)
        total = sum(claimed[name].steps for name in ordered)
        found = tuple(Candidate(name, claimed[name].steps / total, claimed[name].steps) for name in ordered)
        return Verdict(self._tally.format(ordered[0]), found[0].num_rows, found)

    def _needs_structure(self, accounts: list[Account], claimed: dict[str, Claimed]) -> bool:
        """Whether no format of the catalogue gives a good account, so that the log's own structure is asked."""
        best = max(accounts, key=lambda account: account.value, default=None)
        if best is None or not best.seconds or self._is_outnumbered(best.format, best.num_rows):
            return True
        # Nothing but bars, which any program draws.
        return best.format.name in claimed and not claimed[best.format.name].is_settling

    def _infer(self) -> Format | None:
        """The format that the lines so far suggest by their structure."""
        if self._inferred is None or self._inferred[0] != self._tally.num_lines:
            from stepscope.infer.infer import infer

            lines = self._sample
            if len(lines) > _MAX_INFERRED_LINES:
                lines = [*lines[: _MAX_INFERRED_LINES // 2], *lines[-_MAX_INFERRED_LINES // 2 :]]
            self._inferred = self._tally.num_lines, infer([line[: 2 * LOOKED_THROUGH] for line in lines])
        return self._inferred[1]

    def _plugin(self) -> Format | None:
        """The format of another package that claims a line, where no format of ours does."""
        plugins = detect.plugins()
        texts = [text for line in self._sample if (text := line.strip())] if plugins else []
        return next((fmt for text in texts for fmt in plugins if detect.settles(fmt, text)), None)

    def _header(self, claimed: dict[str, Claimed]) -> Format | None:
        """No step yet, but perhaps a header that only one trainer writes. One such line may be a coincidence."""
        best = max(claimed, key=lambda name: claimed[name].num_kinds, default=None)
        if best is None or claimed[best].num_kinds < _ENOUGH_HEADER:
            return None
        is_mostly_header = self._tally.num_claimed >= _HEADER_SHARE * self._tally.num_lines
        return self._tally.format(best) if is_mostly_header else None

    # -- trying them --------------------------------------------------------------------------------------

    @property
    def _sample(self) -> list[str]:
        return [*self.pending, *self._preview[self._num_held_twice() :]]

    def _num_held_twice(self) -> int:
        """How many lines of the preview have been held back meanwhile: lines that come twice would count backwards."""
        last = next((line for line in reversed(self.pending[-_LAST_HELD:]) if any(map(str.isdigit, line))), None)
        head = self._preview[:_MOST_TWICE]
        return head.index(last) + 1 if last is not None and last in head else 0

    def account(self, fmt: Format) -> Account:
        """What a format makes of the lines; of a catalogued one, lines it has read already are not read again."""
        is_taught = any(own.name == fmt.name for own in self._taught)
        if self._preview:
            return give_account(self._assemble(fmt, self._sample), is_taught=is_taught)
        num, assembler = self._trials.get(fmt.name, (0, None)) if fmt.inferred is None else (0, None)
        assembler = self._assemble(fmt, self.pending[num:], assembler)
        self._trials[fmt.name] = len(self.pending), assembler
        return give_account(assembler, is_taught=is_taught)

    def assembler(self, fmt: Format) -> RunAssembler:
        """An assembler of the format that won, which has read the lines held back and no others."""
        num, assembler = self._trials.get(fmt.name, (0, None))
        if num < len(self.pending) or assembler is None:
            assembler = self._assemble(fmt, self.pending[num:], assembler)
            self._trials[fmt.name] = len(self.pending), assembler
        if self._num_dropped:
            assembler.num_lines += self._num_dropped
            self._num_dropped = 0
        return assembler

    def _assemble(self, fmt: Format, lines: Sequence[str], assembler: RunAssembler | None = None) -> RunAssembler:
        return assemble(self.adapt(fmt), lines, prefix=self._prefix(fmt), rank=self.rank, assembler=assembler)

    def _prefix(self, fmt: Format) -> re.Pattern[str] | None:
        text = self._tally.first_text(fmt.name)
        return prefix_shape(claim(fmt, text)) if text else None
