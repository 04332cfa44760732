"""Found by the child's Python before any other `sitecustomize`: lets that one run, then watches for the frameworks.

It must run in the Python that the user trains with: standard library only, no import from Stepscope, and no error of
its own may ever reach the training.
"""

import os
import sys


def _run_the_other_one(here: str) -> None:
    """The environment's own `sitecustomize`, which ours has hidden."""
    kept = list(sys.path)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError:
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    finally:
        sys.path[:] = kept


_here = os.path.dirname(os.path.abspath(__file__))
_run_the_other_one(_here)
if os.environ.get("STEPSCOPE_TRACE") and os.environ.get("STEPSCOPE_RECORDING"):
    try:
        __import__("_stepscope.hooks").hooks.install(os.environ["STEPSCOPE_RECORDING"])
    except Exception as _problem:  # any error: the training matters more than its trace
        sys.stderr.write(f"stepscope: not traced: {_problem}\n")
