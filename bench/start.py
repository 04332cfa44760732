"""How long a person waits for `stepscope eta`, beside the quickest tool that reads such logs, in one interleaved run.

    make bench        or, with runmedic installed in the same environment:  python bench/start.py

Wall time of whole commands, medians of interleaved rounds, so that a busy machine is busy for both. On the reference
case (some dozen lines) the claim is the ratio: at most 4, goal 2.5; `import numpy` alone is shown because most of the
time is that. On a nanoGPT log of 2 MB, `stepscope eta` is to be no slower than `runmedic diagnose`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from logs import write

ROUNDS = 21
ROUNDS_OF_2_MB = 5
CASE = Path(__file__).parent.parent / "src" / "stepscope" / "demo"


def measure(title: str, commands: dict[str, list[str]], rounds: int) -> bool:
    """Print a table of the commands, each beside the first; whether all of ours answered."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False)
            took = time.perf_counter() - start
            if name.startswith("stepscope") and done.returncode != 0:
                print(done.stderr.decode(), file=sys.stderr)
                return False
            if round_number:  # the first round warms the disk cache
                seconds[name].append(took)
    base = next(iter(seconds.values()))
    print(f"{title:<28}{'median':>9}{'fastest':>9}{'ratio':>8}  (quartiles of the paired ratio)")
    for name, values in seconds.items():
        ratios = [own / other for own, other in zip(values, base, strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4)
        print(
            f"{name:<28}{statistics.median(values) * 1e3:>6.0f} ms{min(values) * 1e3:>6.0f} ms"
            f"{statistics.median(ratios):>8.2f}  ({low:.2f}–{high:.2f})"
        )
    return True


def main() -> int:
    folder = Path(sys.executable).parent
    rival, own = folder / "runmedic", str(folder / "stepscope")
    if not rival.exists():
        print("runmedic is not installed beside this Python: pip install runmedic", file=sys.stderr)
        return 1
    log = str(CASE / "train.log")
    commands = {
        "runmedic diagnose": [str(rival), "diagnose", log],
        "stepscope eta": [own, "eta", log, "--config", str(CASE / "config.py"), "--now", "02:30"],
        "stepscope (whole report)": [own, log, "--config", str(CASE / "config.py")],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
    }
    if not measure("reference case", commands, ROUNDS):
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        large = Path(temporary) / "train.log"
        write(large, "nanogpt", 2)
        commands = {
            "runmedic diagnose": [str(rival), "diagnose", str(large)],
            "stepscope eta": [own, "eta", str(large), "--max-steps", "100000"],
        }
        return 0 if measure("nanoGPT log of 2 MB", commands, ROUNDS_OF_2_MB) else 1


if __name__ == "__main__":
    sys.exit(main())
