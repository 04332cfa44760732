"""R05: a line that nobody reads says that the run is over.

What it looks at
    Unread lines after the last step with words such as `training complete`, `done` or `finished`, where the account
    takes the run for one that goes on; and a total that the trainer prints only at its end, before the last step that
    it planned.

Why it matters
    A run that is over has no time left. Where the last step was not printed, the last step read is not the last one.

Example
    `Optimization Done.` is the last line, step 430 of 438 the last one read.

What to change
    Nothing, where the run is over. Where it is not, state the total: `--max-steps N`.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast
from stepscope.lines import hints
from stepscope.run.ending import find_ending, is_short, stated_total

CODE = "R05"
_UNREAD, _SHORT = 0.6, 0.8
_MISSING = 0.01


def check(evidence: AuditEvidence) -> Check:
    """Words of an end after the last row, and an account that knows of none."""
    run, end, ending = evidence.run, evidence.forecast, find_ending(evidence.run)
    total, last = stated_total(run), int(run.steps.step[-1]) if len(run) else None
    if ending is not None:
        # The last steps may lie between two that the trainer prints.
        lacks_steps = total is not None and last is not None and total - last > max(1, _MISSING * total)
        # An early stop means fewer steps than the total, and a limit among the settings is the most there can be.
        is_by_design = run.has_stopped_early or (total is not None and run.settings["max_steps"].origin == "config")
        if ending.value != "finished" or not lacks_steps or is_by_design or not is_short(run, total):
            return Check(CODE, "agrees", say("audit-end-known"))
        assert total is not None
        assert last is not None
        return Check(CODE, "disagrees", say("audit-end-short", step=last, total=total), doubt=_SHORT)
    is_going = isinstance(end, Forecast) and not end.is_finished
    after = [family for family in run.unread if last is not None and family.last_line > evidence.lines[1]]
    found = next((family for family in after if hints.may_be_end(family.last)), None)
    if found is None or not is_going:
        return Check(CODE, "cannot tell", say("audit-end-none"))
    message = say("audit-end-unread", text=redact(found.last, 80), line=found.last_line)
    return Check(CODE, "disagrees", message, doubt=_UNREAD)
