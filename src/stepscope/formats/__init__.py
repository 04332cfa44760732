"""The log formats, one file each. A format of another package imports the names it needs from here."""

from stepscope.lines.format import Clock, Format, Line, Sample

__all__ = ["Clock", "Format", "Line", "Sample"]
