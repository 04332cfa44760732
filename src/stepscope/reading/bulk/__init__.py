"""Read lines of one shape all at once: the engine behind reading long logs fast.

Lines of equal length that differ only in their digits have one *shape*. The ordinary reader (prefix, claim, figures)
is asked once per shape what its line is and where its numbers stand (`plan`); then the numbers of all its lines are
computed together (`numbers`), and handed to the target in the order of the file (`reader`). No format knows about
this: whatever the ordinary reader understands and whose numbers are plain digits is read this way, and every other
line goes the ordinary way, in its place among the others.
"""

from stepscope.reading.bulk.bulk_reader import BulkReader

__all__ = ["BulkReader"]
