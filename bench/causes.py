"""Which cause is named for which true one: made-up runs whose cause is known, many seeds each.

python bench/causes.py [SEEDS]     default 40

Prints, per true cause, how often the named cause is right, what it was taken for otherwise, and the confidence that
went with right and wrong answers: the figures that the confidences in `src/stepscope/causes` are set by.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.synthetic.causes import GENERATORS, MadeUp
from tests.synthetic.healthy import healthy
from tests.synthetic.text import nanogpt, run_of

from stepscope.analysis.explain import explain


def named(made: MadeUp) -> tuple[str, float]:
    """The code that most of the truly slow steps (or the largest change of level) got, and its mean confidence."""
    ledger = explain(run_of(made.lines), flags=made.settings).ledger  # type: ignore[arg-type]
    if made.steps:
        found = [(slow.code or "-", slow.confidence) for slow in ledger.slow if slow.step in made.steps]
        # A cost that comes with every tenth step is no slow step but a rhythm.
        if not found:
            found = [(own.guess.code, own.guess.confidence) for own in ledger.rhythms if own.guess is not None]
    else:
        changed = [level for level in ledger.levels if level.change is not None]
        largest = sorted(changed, key=lambda level: -abs(level.change or 0.0))[:1]
        found = [
            (level.candidates[0].code, level.candidates[0].confidence) if level.candidates else ("-", 0.0)
            for level in largest
        ]
    if not found:
        return "none", 0.0
    code = Counter(own for own, _ in found).most_common(1)[0][0]
    sure = [confidence for own, confidence in found if own == code]
    return code, sum(sure) / len(sure)


def main() -> None:
    num = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    right_by_sureness: Counter[tuple[float, bool]] = Counter()
    print(f"{'made up':<28}{'true':<6}{'right':>6}  taken for")
    for name, generate in GENERATORS.items():
        answers: Counter[str] = Counter()
        true = ""
        for seed in range(num):
            made = generate(seed)
            true = made.code
            code, sure = named(made)
            answers[code] += 1
            if code not in {"-", "none"}:
                right_by_sureness[min(0.9, int(sure * 10) / 10), code == true] += 1
        others = ", ".join(f"{code} {count}" for code, count in answers.most_common() if code != true)
        print(f"{name:<28}{true:<6}{answers[true] / num:>6.0%}  {others}")
    print("\nconfidence   right   of")
    for floor in sorted({floor for floor, _ in right_by_sureness}):
        right, wrong = right_by_sureness[floor, True], right_by_sureness[floor, False]
        print(f"{floor:.1f}–{floor + 0.1:.1f}     {right / (right + wrong):>6.0%}  {right + wrong:>4}")
    called = Counter(
        slow.code or "-"
        for seed in range(5 * num)
        for slow in explain(run_of(nanogpt(healthy(seed)[1]))).ledger.slow
        if slow.code not in {None, "C04"}
    )
    print(f"\n{5 * num} healthy runs: {dict(called) or 'no cause named'}")


if __name__ == "__main__":
    main()
