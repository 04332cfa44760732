"""The report: `build.py` makes it, every other file draws it with `render(report, language) -> str`."""
