"""Flags that several commands share."""

from __future__ import annotations

import argparse

from stepscope.i18n import languages

FORMATS = ("terminal", "json", "markdown", "note")
EXPORTS = ("html", "trace", "csv", "parquet", "mllog", "svg", "png")


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    """The log and what the user may state about its run."""
    parser.add_argument(
        "log",
        nargs="+",
        metavar="LOG",
        help="a file, a folder, - for standard input, or several files of one run; .gz, .xz, .zst too",
    )
    add_fact_arguments(parser)


def add_fact_arguments(parser: argparse.ArgumentParser) -> None:
    """What the user may state about a run."""
    parser.add_argument(
        "--config", metavar="FILE", help="the run's settings: nanoGPT's config.py (read, never run), JSON or TOML"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a fact about the run, such as eval_interval=500",
    )
    parser.add_argument(
        "--max-steps", metavar="N", type=int, help="the number of the run's last step (nanoGPT: max_iters)"
    )
    parser.add_argument(
        "--now", metavar="TIME", help="the moment of the last line: 02:30, an ISO date, or Unix seconds"
    )
    parser.add_argument("--nvidia-smi", metavar="FILE", help="a saved nvidia-smi table of the card")
    parser.add_argument("--gpu", metavar="NAME", help="the card's name")
    parser.add_argument("--confidence", metavar="C", type=float, default=0.9, help="of the intervals (default 0.9)")
    add_format_argument(parser)
    parser.add_argument("--strict", action="store_true", help="fail when a line of the log is not understood")


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """A format that the catalogue does not have."""
    parser.add_argument(
        "--format-file",
        metavar="FILE",
        action="append",
        type=_teach,
        default=[],
        help="a format taught in TOML, asked before all others; `stepscope formats try LOG --suggest` writes one",
    )


def _teach(path: str) -> str:
    """Learn a format while the command line is read, so that whatever reads a log later knows it."""
    from stepscope.catalogue.user_formats import teach

    teach(path)
    return path


def add_forecast_arguments(parser: argparse.ArgumentParser) -> None:
    """What else may be asked and stated about the end of a run."""
    parser.add_argument(
        "--like",
        metavar="LOG",
        help="the log of a complete run of the same program, to follow where the cost of a step changes on the way "
        "(default: one of the same folder whose settings agree)",
    )
    parser.add_argument(
        "--deadline", metavar="TIME", help="how likely the run is done by then: 08:00, an ISO date, or Unix seconds"
    )


def add_output_arguments(parser: argparse.ArgumentParser, *, formats: tuple[str, ...] = FORMATS) -> None:
    """How and where to answer."""
    parser.add_argument(
        "--lang",
        metavar="L[,L…]",
        help=f"language: {', '.join(languages())} (default: the locale's); several with -o FOLDER",
    )
    parser.add_argument("--format", choices=formats, default="terminal", help="how to answer (default: terminal)")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write to a file, or to a folder with one file per language"
    )
