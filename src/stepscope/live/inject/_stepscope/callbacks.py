"""What the callbacks of `stepscope.integrations` share with the probes: a session of their own, or the probes' one."""

from __future__ import annotations

import os

from _stepscope import hooks
from _stepscope.recorder import Recorder
from _stepscope.session import Session

_sessions: dict[str, Session] = {}


def start(probe: str, folder: str | os.PathLike[str] | None = None) -> Session:
    """Record this process from now on, with the hooks of a framework that has been imported.

    Under `stepscope run --trace` everything is recorded already; then this is that recording.
    """
    running = hooks.running()
    if running is not None and folder is None:
        return running
    recorder = Recorder(folder, source=probe)
    session = _sessions.get(recorder.folder)
    if session is None:
        session = _sessions[recorder.folder] = Session(recorder.spans)
    hooks.hook_imported(session, probe)
    return session


def with_torch(probe: str, folder: str | os.PathLike[str] | None) -> Session:
    """The same for a framework on PyTorch, whose saves, loaders and compiles are recorded as well."""
    session = start(probe, folder)
    if hooks.running() is not session:
        hooks.hook_imported(session, "torch_loop")
    return session
