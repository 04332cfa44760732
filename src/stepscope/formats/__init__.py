"""The log formats, one file each. A format of another package imports the names it needs from here."""

from stepscope.lines.format import Clock, Controls, Document, EvaluationHabits, Format, Habits, Layout, Line, Sample

__all__ = ["Clock", "Controls", "Document", "EvaluationHabits", "Format", "Habits", "Layout", "Line", "Sample"]
