"""How often a pattern may look at each character of a line, at worst; without matching anything.

`re` tries one way through a pattern after another. Where a text can be read in many ways, and none of them succeeds,
all are tried: `\\s*\\s*$` takes minutes for a long line of spaces. The ways show in the automaton of the pattern:

- two ways from a place back to itself over the same text double with every copy of that text;
- a loop that can be left for another one over a text that both repeat multiplies the work by the length of the loop;
- ways that part and meet again outside of loops double the work once each.

The automaton is Glushkov's: a state is a place in the pattern that reads a character, and is named after the character
read last. Characters are bits of a number, one for each kind that the pattern tells apart.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

LONGEST = 1 << 16
# A repeat of fewer is written out; of more it is a loop.
_FEW = 8
_MOST_PLACES = 1500
_MOST_TRIPLES = 20_000
_SAMPLES = " \t\n\r0189azAZ_.,:;-+/\\!?()[]{}<>|=%#'\"@&*~^$`\u00a0\u0663é中\U0001f600"
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda char: char.isalnum() or char == "_",
}
_parser: Any = re._parser  # type: ignore[attr-defined]
_ENDLESS: Any = re._constants.MAXREPEAT  # type: ignore[attr-defined]

# What the character before an edge and the one that it reads may be: any of these pairs.
_Guard = tuple[tuple[int, int], ...]


class _Piece(NamedTuple):
    """A part of a pattern: the places it may begin and end with, and on which condition it may be passed unread."""

    first: dict[int, _Guard]
    last: dict[int, _Guard]
    unread: _Guard | None


def looks(pattern: str, flags: int = 0, *, starts: int = 1, is_whole: bool = False, longest: int = LONGEST) -> float:
    """How often each character of a line of at most `longest` may be looked at; infinite where that has no bound.

    `starts` is at how many places a search begins, `is_whole` whether the match must reach the end of the line.
    """
    try:
        machine = _Machine(_parser.parse(pattern, flags), longest)
    except _TooLargeError:
        return math.inf
    return machine.looks(starts, is_whole=is_whole)


class _TooLargeError(Exception):
    pass


class _Machine:
    """The automaton of a pattern."""

    def __init__(self, parsed: Any, longest: int) -> None:
        self._chars = "".join(dict.fromkeys(_SAMPLES + "".join(_told_apart(parsed))))
        self._all = (1 << len(self._chars)) - 1
        self._known: dict[tuple[str, str, int], int] = {}  # the characters of each part, which often comes again
        self._any: _Guard = ((self._all, self._all),)
        self._longest = longest
        self.masks: list[int] = []
        self.bounds: list[float] = []  # how often a place may be visited by the loops around it
        self._stays: list[int] = []  # of a possessive repeat: what it does not leave to what follows
        self._atoms: list[frozenset[int]] = []  # the groups around a place that are not gone back into
        self._around: frozenset[int] = frozenset()
        self._num_atoms = 0
        self.edges: list[dict[int, _Guard]] = []
        self._inner = 1.0  # the cost of what is looked ahead for
        self._is_endless = False
        self._repeated = 0  # what a loop reads that may end anywhere: what comes next is looked at as often
        self._num_meetings_unread = 0
        self._whole = self._sequence(parsed, parsed.state.flags, 1.0)

    def looks(self, starts: int, *, is_whole: bool) -> float:
        """See the function of that name."""
        if self._is_endless:
            return math.inf
        free = set() if is_whole else {place for place, guard in self._whole.last.items() if guard == self._any}
        if starts > 1:
            self._search(starts)
        loops = _Loops(self.edges)
        if any(self._doubles(members) for members in loops.groups):
            return math.inf
        chains = self._chains(loops, free)
        return self._inner * chains * 2.0 ** (self._num_meetings(loops) + self._num_meetings_unread)

    # Building

    def _search(self, starts: int) -> None:
        place = self._place(self._all, float(starts))
        self.edges[place] = {place: self._any, **self._whole.first}

    def _place(self, mask: int, bound: float) -> int:
        if len(self.masks) >= _MOST_PLACES:
            raise _TooLargeError
        self.masks.append(mask)
        self.bounds.append(min(bound, self._longest))
        self._stays.append(0)
        self._atoms.append(self._around)
        self.edges.append({})
        return len(self.masks) - 1

    def _sequence(self, parsed: Iterable[Any], flags: int, bound: float) -> _Piece:
        piece = _Piece({}, {}, self._any)
        for operation, argument in parsed:
            ends = [self.masks[place] for place in piece.last if self._may_end_anywhere(place)]
            self._repeated = self._all if bound > 1 else reduce(or_, ends, 0)
            piece = self._joined(piece, self._part(str(operation), argument, flags, bound))
        return piece

    def _may_end_anywhere(self, place: int) -> bool:
        """Whether a loop ends here that is tried at every length."""
        return place in self.edges[place] and not self._stays[place] and not self._atoms[place] - self._around

    def _part(self, name: str, argument: Any, flags: int, bound: float) -> _Piece:
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            return self._repeat(argument, flags, bound, is_possessive=name == "POSSESSIVE_REPEAT")
        if name == "SUBPATTERN":
            return self._sequence(argument[3], (flags | argument[1]) & ~argument[2], bound)
        if name == "ATOMIC_GROUP":
            return self._atom(argument, flags, bound)
        if name == "BRANCH":
            return self._either([self._sequence(branch, flags, bound) for branch in argument[1]], bound)
        if name == "GROUPREF_EXISTS":
            branches = [branch for branch in argument[1:] if branch is not None]
            pieces = [self._sequence(branch, flags, bound) for branch in branches]
            return self._either([*pieces, _Piece({}, {}, self._any)], bound)
        if name in {"AT", "ASSERT", "ASSERT_NOT"}:
            return _Piece({}, {}, self._condition(name, argument, flags))
        mask = self._all if name == "GROUPREF" else self._mask(name, argument, flags)
        place = self._place(mask, bound)
        if name == "GROUPREF":
            self.edges[place][place] = self._any
        return _Piece({place: self._any}, {place: self._any}, self._any if name == "GROUPREF" else None)

    def _atom(self, inside: Any, flags: int, bound: float) -> _Piece:
        outer, self._num_atoms = self._around, self._num_atoms + 1
        self._around |= {self._num_atoms}
        piece = self._sequence(inside, flags, bound)
        self._around = outer
        return piece

    def _repeat(self, argument: Any, flags: int, bound: float, *, is_possessive: bool) -> _Piece:
        least, most, inside = argument
        if most is not _ENDLESS and most < _FEW and not is_possessive:
            piece = _Piece({}, {}, self._any)
            for number in reversed(range(most)):  # each one only after the one before it
                piece = self._joined(self._sequence(inside, flags, bound), piece)
                piece = piece if number < least else piece._replace(unread=self._any)
            return piece
        endless = most is _ENDLESS
        times = self._longest if endless else most
        start = len(self.masks)
        inner = self._atom if is_possessive else self._sequence
        piece = inner(inside, flags, bound * times)
        if piece.unread is not None and piece.first and (least > 1 or not endless):
            self._is_endless = True  # each of the many may be the one that reads nothing
        if most > 1:
            self._follow(piece.last, piece.first, is_inside=True)
        unread = self._any
        if is_possessive and len(self.masks) == start + 1 and endless:
            self._stays[start] = self.masks[start]
            unread = ((self._all, self._all & ~self.masks[start]),)
        return piece if least else piece._replace(unread=unread)

    def _joined(self, one: _Piece, two: _Piece) -> _Piece:
        self._follow(one.last, two.first)
        first, last = dict(one.first), dict(two.last)
        if one.unread is not None:
            for place, guard in two.first.items():
                first[place] = first.get(place, ()) + self._both(one.unread, guard)
        if two.unread is not None:
            for place, guard in one.last.items():
                last[place] = last.get(place, ()) + self._both(guard, two.unread)
        unread = None if one.unread is None or two.unread is None else self._both(one.unread, two.unread)
        return _Piece(first, last, unread)

    def _either(self, pieces: Sequence[_Piece], bound: float) -> _Piece:
        first = {place: guard for piece in pieces for place, guard in piece.first.items()}
        last = {place: guard for piece in pieces for place, guard in piece.last.items()}
        unread = [guard for piece in pieces if piece.unread is not None for guard in piece.unread]
        if sum(piece.unread is not None for piece in pieces) > 1:
            self._is_endless |= bound > 1
            self._num_meetings_unread += 1
        return _Piece(first, last, self._short(unread) if unread else None)

    def _follow(self, last: dict[int, _Guard], first: dict[int, _Guard], *, is_inside: bool = False) -> None:
        for one, before in last.items():
            for two, after in first.items():
                guard = self._both(before, after)
                if self._stays[one] and not (is_inside and one == two):
                    guard = self._both(guard, ((self._all, self._all & ~self._stays[one]),))
                if two in self.edges[one] and any(after & self.masks[two] for _, after in guard):
                    self._is_endless = True  # a loop inside a loop, and either may go on
                self.edges[one][two] = self._short([*self.edges[one].get(two, ()), *guard])

    def _both(self, one: _Guard, two: _Guard) -> _Guard:
        if one == self._any:
            return two
        return one if two == self._any else self._short([(a & c, b & d) for a, b in one for c, d in two])

    def _short(self, pairs: Sequence[tuple[int, int]]) -> _Guard:
        kept = tuple(dict.fromkeys(pair for pair in pairs if pair[0] and pair[1]))
        return self._any if self._any[0] in kept or len(kept) > 6 else kept

    def _condition(self, name: str, argument: Any, flags: int) -> _Guard:
        if name == "AT":
            return self._boundary(str(argument))
        repeated = self._repeated
        direction, inside = argument
        single = list(inside)
        if len(single) == 1 and str(single[0][0]) in {"LITERAL", "NOT_LITERAL", "IN", "ANY"}:
            mask = self._mask(str(single[0][0]), single[0][1], flags)
            mask = self._all & ~mask if name == "ASSERT_NOT" else mask
            return ((mask, self._all),) if direction < 0 else ((self._all, mask),)
        ahead = _Machine.__new__(_Machine)
        ahead.__dict__.update(self.__dict__, masks=[], bounds=[], edges=[], _stays=[], _atoms=[], _inner=1.0)
        ahead._whole = ahead._sequence(inside, flags, 1.0)
        reach = max((ahead.bounds[place] for place in ahead._within(repeated)), default=1.0)
        reach = reach if reach > _FEW else 1.0
        self._inner = max(self._inner, ahead.looks(1, is_whole=False) * reach)
        return ((self._all, self._all), (0, 0))  # true of any character, and still a condition

    def _boundary(self, which: str) -> _Guard:
        word = self._mask("IN", [(None, "CATEGORY_WORD")], 0)
        other = self._all & ~word
        if which in {"AT_BOUNDARY", "AT_UNI_BOUNDARY"}:
            return ((word, other), (other, word))
        if which in {"AT_NON_BOUNDARY", "AT_UNI_NON_BOUNDARY"}:
            return ((word, word), (other, other))
        newline = 1 << self._chars.index("\n")
        if which in {"AT_END", "AT_END_LINE", "AT_END_STRING"}:
            return ((self._all, newline),)
        return self._any

    def _mask(self, name: str, argument: Any, flags: int) -> int:
        flags = int(flags) & (re.IGNORECASE.value | re.DOTALL.value)
        key = name, str(argument), flags
        if key not in self._known:
            self._known[key] = sum(
                1 << bit for bit, char in enumerate(self._chars) if _reads(name, argument, char, flags)
            )
        return self._known[key]

    # Ways

    def _within(self, mask: int) -> set[int]:
        """The places that a text of these characters may lead to from the beginning."""
        found: set[int] = set()
        waiting = list(self._whole.first)
        while waiting:
            place = waiting.pop()
            if place not in found and self.masks[place] & mask:
                found.add(place)
                waiting += self.edges[place]
        return found

    def _step(self, froms: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Where several places go over one and the same character."""
        before = self._all
        for place in froms:
            before &= self.masks[place]
        yield from self._steps(froms, before, self._all, ())

    def _steps(
        self, froms: tuple[int, ...], before: int, after: int, tos: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        if not froms:
            yield tos
            return
        for to, guard in self.edges[froms[0]].items():
            allowed = 0
            for previous, following in guard:
                allowed |= following if previous & before else 0
            shared = after & self.masks[to] & allowed
            if shared:
                yield from self._steps(froms[1:], before, shared, (*tos, to))

    def _doubles(self, members: frozenset[int]) -> bool:
        """Whether there are two ways from a place back to itself over the same text."""
        if len(members) == 1:
            return False
        graph: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        waiting: list[tuple[int, ...]] = [(place, place) for place in members]
        while waiting:
            pair = waiting.pop()
            if pair not in graph:
                graph[pair] = [to for to in self._step(pair) if to[0] in members and to[1] in members]
                waiting += graph[pair]
        return any(
            any(a == b for a, b in group) and any(a != b for a, b in group)
            for group in _strong_groups(graph)
            if len(group) > 1
        )

    def _chains(self, loops: _Loops, free: set[int]) -> float:
        """The longest chain of loops that pass the same text on: the product of their lengths but for the longest."""
        onward: dict[int, dict[int, float]] = {}
        for one in loops.places:
            for two in loops.places:
                is_later = loops.group_of[one] != loops.group_of[two] and two in loops.after[one]
                is_later &= not self._atoms[one] - self._atoms[two]
                if is_later and one not in free and two not in free and self.masks[one] and self.masks[two]:
                    length = self._passes(one, two, loops)
                    if length:
                        onward.setdefault(one, {})[two] = length
        best: dict[int, tuple[float, float]] = {}  # the product of a chain from here on, and its longest factor

        def chain(place: int) -> tuple[float, float]:
            if place not in best:
                own = self.bounds[place]
                best[place] = (own, own)
                for two, length in onward.get(place, {}).items():
                    product, longest = chain(two)
                    mine = max(1.0, own / length)
                    if product * mine / max(longest, mine) > best[place][0] / best[place][1]:
                        best[place] = (product * mine, max(longest, mine))
            return best[place]

        return max((product / longest for product, longest in map(chain, onward)), default=1.0)

    def _passes(self, one: int, two: int, loops: _Loops) -> int:
        """How long the shortest text is that both loops repeat and that leads from one to the other; 0 for none."""
        goal = (one, two, two)
        start: tuple[int, ...] = (one, one, two)
        seen = {start: 0}
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            for to in self._step(at):
                a, b, c = to
                if loops.group_of[a] != loops.group_of[one] or loops.group_of[c] != loops.group_of[two]:
                    continue
                if b != two and two not in loops.after[b]:
                    continue
                if to == goal:
                    return seen[at] + 1
                if to not in seen:
                    if len(seen) > _MOST_TRIPLES:
                        return 1
                    seen[to] = seen[at] + 1
                    waiting.append(to)
        return 0

    def _num_meetings(self, loops: _Loops) -> int:
        """How often, outside of loops, ways part over the same text and meet again, one time after the other."""
        inside = set(loops.places)
        graph: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        waiting: list[tuple[int, ...]] = [(place, place) for place in range(len(self.masks))]
        while waiting:
            pair = waiting.pop()
            if pair not in graph:
                graph[pair] = [(min(to), max(to)) for to in self._step(pair)]
                waiting += graph[pair]
        depth: dict[tuple[int, ...], int] = {}
        for group in _strong_groups(graph):  # those without a way on come first
            most = 0
            for pair in group:
                for to in graph[pair]:
                    meets = pair[0] != pair[1] and to[0] == to[1] and not inside & {*pair, *to}
                    most = max(most, depth.get(to, 0) + meets)
            depth |= dict.fromkeys(group, most)
        return max(depth.values(), default=0)


class _Loops:
    """Which places of an automaton can be reached from themselves, and which from which."""

    def __init__(self, edges: list[dict[int, _Guard]]) -> None:
        groups = list(_strong_groups({place: list(tos) for place, tos in enumerate(edges)}))
        self.group_of = {place: number for number, group in enumerate(groups) for place in group}
        self.groups = [frozenset(group) for group in groups if len(group) > 1 or group[0] in edges[group[0]]]
        self.places = sorted(place for group in self.groups for place in group)
        self.after: dict[int, set[int]] = {}
        for group in groups:  # the last ones come first
            reached = set(group) if len(group) > 1 else set()
            for place in group:
                for to in edges[place]:
                    reached |= {to} | self.after.get(to, set())
            for place in group:
                self.after[place] = reached


def _strong_groups(graph: dict[Any, list[Any]]) -> Iterator[list[Any]]:
    """The strongly connected groups of a graph, those without a way on first (Tarjan, without recursion)."""
    number: dict[Any, int] = {}
    low: dict[Any, int] = {}
    stack: list[Any] = []
    on_stack: set[Any] = set()
    for root, onward in graph.items():
        if root in number:
            continue
        work = [(root, iter(onward))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, tos = work[-1]
            for to in tos:
                if to not in number:
                    number[to] = low[to] = len(number)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(graph[to])))
                    break
                if to in on_stack:
                    low[node] = min(low[node], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    group: list[Any] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    yield group


def _told_apart(parsed: Any) -> Iterator[str]:
    """Characters of every kind that a pattern tells apart: its own, and the neighbours of its ranges."""
    for operation, argument in parsed:
        name = str(operation)
        if name in {"LITERAL", "NOT_LITERAL"}:
            yield from _cases(chr(argument))
        elif name == "IN":
            for kind, value in argument:
                codes = (
                    [value]
                    if str(kind) == "LITERAL"
                    else [*value, value[0] - 1, value[1] + 1]
                    if str(kind) == "RANGE"
                    else []
                )
                for code in codes:
                    if 0 <= code <= 0x10FFFF:
                        yield from _cases(chr(code))
        else:
            for inside in _insides(argument):
                yield from _told_apart(inside)


def _insides(argument: Any) -> Iterator[Any]:
    if hasattr(argument, "data"):
        yield argument
    elif isinstance(argument, list | tuple):
        for part in argument:
            yield from _insides(part)


def _cases(char: str) -> tuple[str, ...]:
    return tuple(case for case in (char, char.lower(), char.upper()) if len(case) == 1)


def _reads(name: str, argument: Any, char: str, flags: int) -> bool:
    """Whether a part of a pattern reads a character."""
    if name == "ANY":
        return char != "\n" or bool(flags & re.DOTALL.value)
    cases = _cases(char) if flags & re.IGNORECASE.value else (char,)
    if name in {"LITERAL", "NOT_LITERAL"}:
        return any(ord(case) == argument for case in cases) == (name == "LITERAL")
    is_negated = bool(argument) and str(argument[0][0]) == "NEGATE"
    found = any(_has(str(kind), value, case) for kind, value in argument[is_negated:] for case in cases)
    return found != is_negated


def _has(kind: str, value: Any, char: str) -> bool:
    if kind == "LITERAL":
        return bool(ord(char) == value)
    if kind == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    word = str(value).replace("UNI_", "")
    if "NOT_" in word:
        return not _CATEGORIES[word.replace("NOT_", "")](char)
    return _CATEGORIES[word](char)
