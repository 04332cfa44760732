"""The report: `analysis/explain.py` makes it, every file here draws it with `render(report, language) -> str`."""
