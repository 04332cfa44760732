"""What the live commands share: flags, showing views, sending alarms, and the exit code of how a run ended."""

from __future__ import annotations

import argparse
import datetime as dt
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepscope.alarms._base import Alarm
from stepscope.cli import _flags, _report
from stepscope.core.errors import UsageError
from stepscope.core.unseen import visible
from stepscope.i18n import Language
from stepscope.live.notify import Notifier
from stepscope.live.otlp import OtlpWriter
from stepscope.live.watch import End, Facts, View
from stepscope.report import live
from stepscope.report.live_charts import Panels
from stepscope.source.hardware import Hardware

if TYPE_CHECKING:
    from rich.text import Text

_EXIT_CODES: dict[End, int] = {"finished": 0, "ended": 4, "lost": 4}
_LOOK_EVERY_S, _PLAIN_EVERY_S = 1.0, 10.0
_ALARM_TEXT = "STEPSCOPE_ALARM"
# How long the last messages may take to arrive before we leave.
_PATIENCE_S = 10.0
_WIDEST = 110


def add_live_arguments(parser: argparse.ArgumentParser, *, plain: str = "Print one line per update") -> None:
    """What is known about the run, how to show it, and where to send alarms; `plain` says what `--plain` does."""
    _flags.add_setting_arguments(parser)
    _flags.add_confidence_argument(parser)
    _flags.add_format_argument(parser)
    _add_ignored_arguments(parser)
    _flags.add_language_argument(parser)
    parser.add_argument(
        "--plain", action="store_true", help=f"{plain} instead of a screen (default without a terminal)"
    )
    parser.add_argument(
        "--interval",
        metavar="S",
        type=_flags.number("--interval", "bad-interval", lambda seconds: 0.05 <= seconds <= 3600),
        help="Seconds between updates (default: 1 on a screen, else 10)",
    )
    add_alarm_arguments(parser)
    parser.add_argument(
        "--otlp",
        metavar="FILE|URL",
        help="Write the phases as OpenTelemetry spans and gauges to this file or collector (needs the extra `otlp`)",
    )


def add_alarm_arguments(parser: argparse.ArgumentParser) -> None:
    """Where alarms are sent."""
    parser.add_argument(
        "--exec", metavar="CMD", help="Run this shell command at each alarm; the alarm's text is in $STEPSCOPE_ALARM"
    )
    parser.add_argument(
        "--notify",
        metavar="URL",
        action="append",
        default=[],
        help="Send alarms to this Apprise URL; may be repeated (needs the extra `notify`)",
    )


def _add_ignored_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags that commands which read a whole log have: accepted, not shown; `warn_of_ignored` says so."""
    parser.add_argument("--now", type=_flags.moment("bad-moment"), help=argparse.SUPPRESS)
    parser.add_argument("--nvidia-smi", help=argparse.SUPPRESS)
    parser.add_argument("--gpu", help=argparse.SUPPRESS)
    parser.add_argument("--strict", action="store_true", help=argparse.SUPPRESS)


def facts_of(args: argparse.Namespace, job_end_s: float | None = None) -> Facts:
    """What the arguments state about the run, and when its scheduler will end it."""
    config = _report.read_config_of(args)
    deadline = None if job_end_s is None else dt.datetime.fromtimestamp(job_end_s, dt.UTC).astimezone()
    return Facts(config, _report.stated_settings(args), args.confidence, deadline)


def warn_of_ignored(args: argparse.Namespace, language: Language) -> None:
    """Say on stderr which of the flags that were given have no effect on a live view."""
    given = {"--now": args.now, "--nvidia-smi": args.nvidia_smi, "--gpu": args.gpu, "--strict": args.strict}
    for flag, value in given.items():
        if value:
            print(language.text("warning-no-effect", flag=flag), file=sys.stderr)


def interval_of(args: argparse.Namespace) -> float:
    """Seconds between two looks at the run: alarms come soon, however seldom a line is printed."""
    stated = args.interval or _LOOK_EVERY_S
    return float(stated if has_screen(args) else min(stated, _LOOK_EVERY_S))


def make_otlp(args: argparse.Namespace) -> OtlpWriter:
    """Writes each view where `--otlp` says."""
    return OtlpWriter(args.otlp, say=lambda text: print(text, file=sys.stderr))


def has_screen(args: argparse.Namespace) -> bool:
    """Whether there is a terminal to draw on."""
    import os

    return not args.plain and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


# Where chats see a call for somebody (`@everyone`, Slack's `<!channel>`): no log may make one.
_CALLS = re.compile(r"(?<=[@!])(?=\w)")


class AlarmSender:
    """Sends each alarm once: to a command, to addresses."""

    def __init__(self, args: argparse.Namespace, language: Language) -> None:
        self._command = args.exec
        self._language = language
        self._notifier = Notifier(_apprise(args.notify)) if args.notify else None

    def send(self, alarms: tuple[Alarm, ...], *, run: str | None = None) -> None:
        """Pass on what is new; `run` says of which run, where there are several."""
        import os

        for alarm in alarms:
            text = self._language.say(alarm.message)
            text = text if run is None else f"{visible(run)}: {text}"
            if self._command:
                environment = os.environ | {_ALARM_TEXT: text, f"{_ALARM_TEXT}_CODE": alarm.code}
                try:
                    # By the shell, which knows $STEPSCOPE_ALARM and >>. The command is the user's, word for word: what
                    # a log says is in the environment only.
                    subprocess.Popen(
                        self._command,
                        shell=True,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        start_new_session=True,
                    )
                except (OSError, ValueError) as problem:
                    print(f"--exec: {problem}", file=sys.stderr)
            if self._notifier is not None:
                self._notifier.tell(f"stepscope: {alarm.code}", _CALLS.sub(" ", text))

    def close(self) -> None:
        """Wait for messages on their way, and say how many did not arrive."""
        if self._notifier is None:
            return
        self._notifier.close(_PATIENCE_S)
        if self._notifier.num_failed:
            print(self._language.text("notify-failed", count=self._notifier.num_failed), file=sys.stderr)


def _apprise(addresses: list[str]) -> Callable[[str, str], bool]:
    try:
        import apprise
    except ImportError:
        raise UsageError("needs-extra", place="--notify", extra="notify") from None
    sender = apprise.Apprise()
    for address in addresses:
        if not sender.add(address):
            raise UsageError("bad-address", place=f"--notify {address}")
    return lambda title, body: bool(sender.notify(title=title, body=body))


class PlainShow:
    """A line every few seconds, one when the run begins to do something else or has ended, and one per new alarm."""

    def __init__(self, language: Language, sender: AlarmSender, *, every_s: float = _PLAIN_EVERY_S) -> None:
        self._language = language
        self._sender = sender
        self._every_s = every_s
        self._next: dt.datetime | None = None
        self._last, self._doing = "", ""

    def __call__(self, view: View) -> None:
        is_due = self._next is None or view.now >= self._next or view.pulse.doing != self._doing or bool(view.fresh)
        text = live.line(view, self._language)
        if is_due and text != self._last:
            print(text, flush=True)
            self._next = view.now + dt.timedelta(seconds=self._every_s)
            self._last, self._doing = text, view.pulse.doing
        for alarm in view.fresh:
            print(live.alarm_text(alarm, self._language), flush=True)
        self._sender.send(view.fresh)

    def __enter__(self) -> PlainShow:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.close()


class ScreenShow:
    """A screen that is drawn again with each view."""

    def __init__(self, language: Language, sender: AlarmSender) -> None:
        from rich.console import Console
        from rich.live import Live

        self._language = language
        self._sender = sender
        self._console = Console(highlight=False)
        # The whole screen, so that a new window size leaves no scraps; what was shown last stays behind at the end.
        self._live = Live(console=self._console, auto_refresh=False, screen=True)
        self._last: View | None = None
        # What keys change (`_keys.py`): whether there are any, a held picture, the help, the panels.
        self.has_keys, self.is_held, self.has_help = False, False, False
        self.panels = Panels()
        self._history: deque[Hardware] = deque(maxlen=_WIDEST)

    def __call__(self, view: View) -> None:
        self.show(view)

    def show(self, view: View, *, is_drawn: bool = True) -> None:
        """Draw a view and send its alarms; one that is not drawn is kept for the end."""
        self._last = view
        if view.hardware is not None:
            self._history.append(view.hardware)
        if is_drawn and not self.is_held:
            self.redraw()
        self._sender.send(view.fresh)

    def redraw(self) -> None:
        """Draw the last view again."""
        if self._last is not None:
            self._live.update(self._drawn(self._last, height=self._console.height), refresh=True)

    def widen(self) -> None:
        """Show more iterations, as long as there are more."""
        report = self._last.report if self._last is not None else None
        self.panels = self.panels.wider(len(report.run) if report is not None else 0)

    def pause(self) -> None:
        """Leave the terminal to somebody else."""
        self._live.stop()

    def resume(self) -> None:
        """Take the terminal again."""
        self._live.start()

    def _drawn(self, view: View, *, height: int | None) -> Text:
        from rich.text import Text

        width = max(40, min(_WIDEST, self._console.width))
        footer = live.keys_lines(self._language, width, is_held=self.is_held, has_help=self.has_help)
        if not self.has_keys or height is None:
            footer = []
        room = None if height is None else height - len(footer)
        lines = live.draw(view, self._language, width=width, height=room, panels=self.panels, history=self._history)
        if room is not None and footer:
            lines += [Text("")] * (room - 1 - len(lines)) + footer
        text = Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text

    def __enter__(self) -> ScreenShow:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if self._last is not None:
            width = max(40, min(_WIDEST, self._console.width))
            for line in live.end_lines(self._last, self._language, width=width):
                self._console.print(line)
        self._sender.close()


class AlarmShow:
    """Nothing but alarms, on stderr, while the command prints its own output."""

    def __init__(self, language: Language, sender: AlarmSender) -> None:
        self._language = language
        self._sender = sender

    def __call__(self, view: View) -> None:
        self.tell(view.fresh)

    def tell(self, alarms: tuple[Alarm, ...]) -> None:
        """Print alarms and send them on."""
        for alarm in alarms:
            print(live.alarm_text(alarm, self._language), file=sys.stderr, flush=True)
        self._sender.send(alarms)

    def __enter__(self) -> AlarmShow:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.close()


def make_screen(args: argparse.Namespace, language: Language) -> ScreenShow:
    """A screen; only where there is a terminal to draw on."""
    return ScreenShow(language, AlarmSender(args, language))


def make_show(args: argparse.Namespace, language: Language) -> PlainShow | ScreenShow:
    """The way to show views that suits the output."""
    if has_screen(args):
        return make_screen(args, language)
    return PlainShow(language, AlarmSender(args, language), every_s=args.interval or _PLAIN_EVERY_S)


def exit_code(end: End) -> int:
    """0 the run finished, 4 it ended early or crashed."""
    return _EXIT_CODES[end]
